"""While Spark runs a batch, the look for the next plan is made. It is used where the budgets limit
the next batch.
"""

import threading
from collections.abc import Callable

import pytest

from lockgate_spark.errors import Stopped
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.planning.steps import AHEAD_S
from support.runs import RunInMemory, SourceInMemory
from support.sessions import TimeInMemory, minutes, session

START = {"a-0": 0, "a-1": 0}
BUDGET = 8
LOGS = {"a-0": minutes(*range(60)), "a-1": minutes(*range(0, 600, 10))}


class Later:
    """Begins what it is given when it is told to."""

    def __init__(self) -> None:
        self.begun: list[Callable[[], None]] = []
        self.interrupts = 0

    def __call__(self, function: Callable[[], None]) -> Callable[[], object]:
        self.begun.append(function)
        return self.interrupt

    def interrupt(self) -> None:
        self.interrupts += 1

    def run(self) -> None:
        self.begun.pop()()


def query(time: TimeInMemory | None = None, run: RunInMemory | None = None) -> tuple[AlignedRun, Later]:
    later = Later()
    source = SourceInMemory({split: list(log) for split, log in LOGS.items()}, budget=BUDGET)
    return session(source, run=run, time=time or TimeInMemory(), begin=later), later


def made(one: AlignedRun) -> int:
    return one.sources[0].log.requests.made


def test_plans_of_looks_ahead_are_those_made_at_once_without_a_request() -> None:
    (ahead, later), at_once = query(), session(SourceInMemory(LOGS, budget=BUDGET), time=TimeInMemory())
    ends = ahead.latest_offset(0, START)
    assert at_once.latest_offset(0, START) == ends
    for _ in range(5):
        later.run()
        asked = made(ahead)
        planned = ahead.latest_offset(0, ends)
        assert made(ahead) == asked
        assert planned == at_once.latest_offset(0, ends) != ends
        ends = planned
    assert made(ahead) <= made(at_once)


def test_look_ahead_is_used_although_records_have_come() -> None:
    one, later = query()
    ends = one.latest_offset(0, START)
    later.run()
    asked = made(one)
    one.sources[0].records["a-0"].append(LOGS["a-0"][-1])  # type: ignore[attr-defined]
    assert one.latest_offset(0, ends) != ends
    assert made(one) == asked


@pytest.mark.parametrize("what", ["time", "position", "error"])
def test_look_ahead_is_made_anew_where_it_no_longer_holds(what: str) -> None:
    time = TimeInMemory()
    one, later = query(time)
    ends = one.latest_offset(0, START)
    log = one.sources[0].jvm  # type: ignore[attr-defined]
    if what == "error":
        log.firstAt, first_at = None, log.firstAt
    later.run()
    if what == "error":
        log.firstAt = first_at
    asked = made(one)
    time.now += AHEAD_S if what == "time" else AHEAD_S - 0.1
    start = {**ends, "a-0": ends["a-0"] - 1} if what == "position" else ends
    planned = one.latest_offset(0, start)
    assert planned != ends
    assert made(one) > asked


def test_nothing_is_looked_at_ahead_where_the_budget_is_no_limit() -> None:
    later = Later()
    one = session(SourceInMemory(LOGS), time=TimeInMemory(), begin=later)
    one.latest_offset(0, START)
    assert not later.begun


def test_all_sources_have_their_ends_before_the_look_ahead_begins() -> None:
    later = Later()
    sources = [SourceInMemory(LOGS, budget=BUDGET), SourceInMemory(LOGS, budget=BUDGET)]
    one = session(*sources, time=TimeInMemory(), begin=later)
    first = one.latest_offset(0, START)
    assert not later.begun
    second = one.latest_offset(1, START)
    later.run()
    asked = [source.log.requests.made for source in sources]
    assert one.latest_offset(0, first) != first
    assert one.latest_offset(1, second) != second
    assert [source.log.requests.made for source in sources] == asked


def test_stopped_query_does_not_wait_for_a_look_ahead() -> None:
    run = RunInMemory()
    one, later = query(run=run)
    ends = one.latest_offset(0, START)
    run.active = False
    with pytest.raises(Stopped):
        one.latest_offset(0, ends)
    threading.Timer(0.1, later.run).start()
    one.close()
    assert later.interrupts == 1


def test_run_that_ends_amid_a_batch_reports_no_record_of_it() -> None:
    one, later = query()
    one.latest_offset(0, START)
    assert one.planner.reports() is None, "the look ahead uses the log"
    later.run()
    reports = one.planner.reports()
    assert reports is not None
    assert {split: each.position for split, each in reports[0].splits.items()} == START
