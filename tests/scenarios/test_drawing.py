"""A seed draws the same each time, and every class as often as any other. Feeds are as their
description says.
"""

from random import Random

import pytest
from seeded.beside import RETURNS, TASKS, Beside
from seeded.drawing import draw
from seeded.judging import out_of_order
from seeded.played import Record, Split
from seeded.scenario import (
    ADVERSE,
    FIRST_ADVERSE_SEED,
    PLAIN,
    Append,
    Create,
    Kind,
    Operator,
    Scenario,
    Source,
    Start,
    Widen,
    kind_of,
)

SEEDS = (*range(240), *range(FIRST_ADVERSE_SEED, FIRST_ADVERSE_SEED + 120))
ALL = [draw(seed) for seed in SEEDS]


def of(*kinds: Kind) -> list[Scenario]:
    return [scenario for scenario in ALL if scenario.kind in kinds]


def test_a_seed_draws_the_same_scenario_each_time() -> None:
    assert [draw(seed) for seed in SEEDS] == ALL


def test_other_seeds_draw_other_scenarios() -> None:
    assert len({scenario.acts for scenario in ALL}) > 0.95 * len(ALL)


@pytest.mark.parametrize(("first", "kinds"), [(0, PLAIN), (1, PLAIN), (40, PLAIN), (1_000, ADVERSE), (1_007, ADVERSE)])
def test_two_hundred_seeds_in_a_row_cover_all_classes_evenly(first: int, kinds: tuple[Kind, ...]) -> None:
    drawn = [kind_of(seed) for seed in range(first, first + 200)]
    assert {drawn.count(kind) for kind in kinds} == {200 // len(kinds)}


def test_each_adverse_class_comes_back_in_each_way_with_each_number_of_tasks() -> None:
    ways = {(returns, str(tasks)) for returns in RETURNS for tasks in TASKS}
    for kind in ADVERSE:
        drawn = [(scenario.seed, scenario.query.sources[0]) for scenario in of(kind)]
        found = [(Beside.of(seed, Random(seed)).returns, _tasks(source)) for seed, source in drawn]
        assert set(found) == ways, kind
        assert {scenario.query.log_format for scenario in of(kind)} == {1, 2}, kind


def _tasks(source: Source) -> str:
    return str({name: value for name, value in source.options.items() if name.endswith(("Partitions", "Partition"))})


def test_every_operator_is_drawn() -> None:
    assert {scenario.query.operator for scenario in ALL} == set(Operator)


def test_numbers_are_given_once_but_for_what_a_producer_repeats() -> None:
    for scenario in ALL:
        places = {(stamp.n, send.topic, send.partition, stamp.when) for send in scenario.sends for stamp in send.stamps}
        assert len(places) == len({n for n, *_ in places}), scenario.title


def test_records_are_for_partitions_that_there_are_by_then() -> None:
    for scenario in ALL:
        partitions: dict[str, int] = {}
        for act in scenario.acts:
            if isinstance(act, Create | Widen):
                partitions[act.topic] = act.partitions
            if isinstance(act, Append):
                assert all(
                    step.partition < partitions[step.topic] for step in act.steps if hasattr(step, "partition")
                ), scenario.title


def test_no_replay_is_further_out_of_order_than_it_promises() -> None:
    for scenario in ALL:
        if scenario.origin_ms is not None:
            logs: dict[Split, list[int]] = {}
            for send in scenario.sends:
                logs.setdefault(Split(send.topic, send.partition), []).extend(stamp.when for stamp in send.stamps)
            for split, times in logs.items():
                records = [Record(n, 0, split, n, time, 0, 0) for n, time in enumerate(times)]
                assert max(out_of_order(records, record) for record in records) <= scenario.query.disorder_ms, (
                    scenario.title
                )


def test_the_drift_is_within_the_delay_as_the_promise_asks() -> None:
    for scenario in ALL:
        query = scenario.query
        assert query.slice_ms is not None or query.disorder_ms < query.max_drift_ms <= query.delay_ms, scenario.title
        if query.in_payload:
            assert query.max_drift_ms + query.disorder_ms <= query.delay_ms, scenario.title


def test_a_declared_idle_timeout_covers_the_producers_that_are_behind() -> None:
    for scenario in of(Kind.LAGGING, Kind.TRANSACTIONS):
        declared = scenario.query.alignment.get("idle_timeout")
        if declared is not None:
            assert max(stamp.when for send in scenario.sends for stamp in send.stamps) < declared, scenario.title


def test_every_scenario_runs_a_query_to_an_end() -> None:
    assert all(any(isinstance(act, Start) for act in scenario.acts) for scenario in ALL)
    assert all(type(scenario.acts[-1]).__name__ in ("Stop", "Finish") for scenario in ALL)
