"""What `status` says before the first plan, while a query waits, and after its end."""

from dataclasses import dataclass

import pytest

from lockgate_spark import QueryState, status
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.running import running
from lockgate_testbed.coordinator import CoordinatorProcess
from support.members import MINUTE, at, member
from support.runs import RunInMemory, SourceInMemory
from support.sessions import NOW_MS, T0, TimeInMemory, asked_aside, minutes, session


@dataclass
class Query:
    """A query as Spark shows it."""

    id: str
    name: str | None = None
    isActive: bool = True  # noqa: N815


@pytest.fixture
def query(topic: str) -> Query:
    return Query(topic, "orders")


def registered(query: Query, run: AlignedRun) -> AlignedRun:
    return running.of_run(AlignedRun, query.id, "1", lambda: run)


def test_before_the_first_plan_it_waits_for_kafka(query: Query) -> None:
    run = registered(query, session(SourceInMemory({"a-0": minutes(0)})))
    assert status(query).state is QueryState.STARTING
    assert "it waits for Kafka's answers" in status(query).sentence
    run.close()


def test_query_waits_for_the_first_answer_of_the_coordinator(query: Query) -> None:
    with CoordinatorProcess() as gone:
        url = gone.url
    with member(url, "g", "orders", timeout="300 milliseconds") as ours:
        run = registered(query, session(SourceInMemory({"a-0": minutes(0)}), membership=ours, time=TimeInMemory()))
        run.latest_offset(0, {"a-0": 0})
        found = status(query)
        assert (found.state, found.waits_for) == (QueryState.WAITING, "the coordinator")
        assert found.sentence.startswith("The query waits for the coordinator: it has not answered yet")
        run.close()


def test_a_wait_lasts_in_status_while_spark_asks_again_and_again(url: str, group: str, query: Query) -> None:
    """Between two calls of Spark's no plan is held."""
    with member(url, group, "slow") as slow, member(url, group, "orders") as ours:
        slow.exchange(at(T0 - 1))
        source = SourceInMemory({"a-0": minutes(0, 30)})
        run = registered(query, session(source, membership=ours, time=(time := TimeInMemory())))
        run.latest_offset(0, {"a-0": 0})
        assert run.latest_offset(0, {"a-0": 1}) == {"a-0": 1}
        time.now += 60
        found = status(query)
        assert (found.state, found.waits_for) == (QueryState.WAITING, "slow/0")
        assert " (for 1 min so far): blocked by slow/0" in found.sentence
        assert found.waits_since is not None
        slow.exchange(at(T0 + 60 * MINUTE))
        asked_aside(run, {"a-0": 1})[0].join(60)
        assert status(query).state is not QueryState.WAITING
        run.close()


def test_after_its_end_it_says_which_window_is_left_to_the_next_run(query: Query) -> None:
    source = SourceInMemory({"a-0": [NOW_MS + 1, NOW_MS + 2]}).available_now(NOW_MS)
    made = session(source, run=RunInMemory(available_now=True), time=TimeInMemory(), slice="1 hour", slice_zone="epoch")
    run = registered(query, made)
    run.latest_offset(0, {"a-0": 0})
    run.close()
    query.isActive = False
    found = status(query)
    assert found.state is QueryState.ENDED
    assert found.sentence == (
        "The query has ended. This run has read nothing. The window that ends at 2026-01-31T01:00:00.000Z is still "
        "open, and is left for the next run."
    )
