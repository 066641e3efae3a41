"""The benchmark of freshness, small: producers are as far behind as they say, its account is exact,
and its claims are the guide's.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from benchmarks.live.account import Fed, Freshness, Outcome, Way, broken, outcome, way
from benchmarks.live.shapes import BEFORE_MS, SHAPES, Case, Producer, Shape, cases, may_wait_ms
from benchmarks.live.table import table

from lockgate_testbed.kafka import KafkaBroker
from support.imports import CHECKOUT

NOW = 1_800_000_000_000
EVERY = [(shape, n) for shape in SHAPES.values() for n in range(len(shape.producers))]
IDS = [f"{shape.name}: {shape.producers[n].name}" for shape, n in EVERY]


@pytest.mark.long
def test_a_small_run_of_two_queries_in_a_group_accounts_for_every_row_of_both_ways(
    kafka: KafkaBroker, tmp_path: Path
) -> None:
    arguments = [
        "--seconds",
        "10",
        "--settle",
        "5",
        "--no-check",
        "--cases",
        "all on time, as fast as possible, in a group",
    ]
    command = [sys.executable, "-m", "benchmarks.live", *arguments, "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=900)
    if done.returncode:
        pytest.fail(f"{done.stdout}\n{done.stderr}", pytrace=False)
    (case,) = json.loads((tmp_path / "live.json").read_text())["measured"]
    for name in ("native", "aligned"):
        records, p50, p99 = case[name]["others"]
        assert 0 < p50 <= p99
        assert records > 0
        assert (case[name]["lost"], case[name]["lost_before"]) == (0, 0)
    assert f"| {case['case']} |" in (tmp_path / "live.md").read_text()


@pytest.mark.parametrize(("shape", "partition"), EVERY, ids=IDS)
def test_no_record_is_further_behind_than_its_producer_says_and_some_is(shape: Shape, partition: int) -> None:
    producer = shape.producers[partition]
    made = list(shape.live(partition, NOW, NOW + 60_000))
    lags = [appended - stamp for appended, stamp in made]
    assert all(NOW <= appended < NOW + 60_000 for appended, _ in made)
    assert all(producer.lag_ms <= lag <= producer.most_ms for lag in lags)
    assert not lags or max(lags) > producer.most_ms - max(1, producer.every_ms)
    assert bool(lags) == (producer.every_ms > 0 and producer.silent_ms is None)


@pytest.mark.parametrize(("shape", "partition"), EVERY, ids=IDS)
def test_rounds_of_a_feed_leave_nothing_out_and_bring_nothing_twice(shape: Shape, partition: int) -> None:
    moments = [NOW, NOW + 7, NOW + 20_000, NOW + 20_001, NOW + 60_000]
    rounds = [record for since, until in pairwise(moments) for record in shape.live(partition, since, until)]
    assert rounds == list(shape.live(partition, NOW, NOW + 60_000))


@pytest.mark.parametrize(("shape", "partition"), EVERY, ids=IDS)
def test_a_history_ends_where_the_live_records_begin_and_begins_at_one_event_time(shape: Shape, partition: int) -> None:
    producer, history = shape.producers[partition], list(shape.history(partition, NOW))
    assert all(appended < NOW for appended, _ in history)
    assert history == sorted(history)
    if producer.silent_ms is None and producer.every_ms:
        begins = NOW - shape.most_ms - BEFORE_MS
        first = history[0][1] if history else next(shape.live(partition, NOW, NOW + 60_000))[1]
        assert begins - producer.commits_ms <= first < begins + max(producer.every_ms, 20_000)
    if producer.silent_ms is not None:
        assert max(appended for appended, _ in history) < NOW - producer.silent_ms


def test_records_wait_for_those_that_are_further_behind_than_the_drift_and_for_no_others() -> None:
    late, very_late, on_time = (
        Producer("late", lag_ms=30_000),
        Producer("very late", lag_ms=90_000),
        Producer("on time"),
    )
    assert may_wait_ms(on_time, 0, 10_000) == 0
    assert may_wait_ms(on_time, 9_000, 10_000) == 0
    assert may_wait_ms(on_time, 30_000, 10_000) == 20_000
    assert may_wait_ms(late, 90_000, 10_000) == 50_000
    assert may_wait_ms(very_late, 90_000, 10_000) == 0


def test_a_producer_that_lags_holds_the_others_by_its_last_record_and_one_on_time_holds_nobody() -> None:
    held = {producer.name: producer.holds_ms for shape in SHAPES.values() for producer in shape.producers}
    assert {name: ms for name, ms in held.items() if ms} == {
        "lags 30 s": 30_100,
        "lags 3 h": 10_800_100,
        "commits every 20 s": 20_000,
    }


def test_cases_are_told_apart_by_their_names() -> None:
    names = [case.name for case in cases()]
    assert len(set(names)) == len(names) > 15


FED = Fed(written=([(100, 100), (200, 200), (300, 300)], [(150, 50), (250, 150)]), live_from=[1, 0], odd=[False, True])


def told(*rows: tuple[int, int, int, int], ends: Sequence[int]) -> dict[str, Any]:
    return {"t": {"rows": rows, "ends": {str(n): end for n, end in enumerate(ends)}, "batches": 2}}


def test_a_row_that_was_read_and_did_not_come_is_lost_and_one_that_was_not_read_is_not() -> None:
    everything = [(0, 0, 100, 400), (0, 1, 200, 400), (0, 2, 300, 900), (1, 0, 150, 400), (1, 1, 250, 700)]
    span = (180, 1_000)
    assert way({"t": FED}, told(*everything, ends=[3, 2]), span) == Way(
        others=Freshness(3, 0.3, 0.6), odd=Freshness(2, 0.25, 0.45), rows=3, lost=0, lost_before=0, batches=2
    )
    some = [row for row in everything if row[:2] not in ((0, 2), (1, 0))]
    found = way({"t": FED}, told(*some, ends=[2, 2]), span)
    assert (found.rows, found.lost, found.lost_before) == (2, 0, 1)
    found = way({"t": FED}, told(*some, ends=[3, 2]), span)
    assert (found.rows, found.lost, found.lost_before) == (3, 1, 1)
    # what lay there before the start says nothing
    found = way({"t": FED}, told(*everything[1:], ends=[3, 2]), span)
    assert (found.rows, found.lost, found.lost_before) == (3, 0, 0)


def test_rows_from_before_the_measured_time_or_behind_it_say_nothing_of_freshness() -> None:
    rows = [(0, 0, 100, 400), (0, 1, 200, 500), (0, 2, 300, 900)]
    assert way({"t": FED}, told(*rows, ends=[3, 0]), (450, 900)).others == Freshness(1, 0.3, 0.3)


@pytest.mark.parametrize(
    "row", [(0, 0, 100, 500), (0, 3, 100, 400), (0, 1, 100, 400)], ids=["twice", "unwritten", "another"]
)
def test_a_row_that_nobody_wrote_is_no_result(row: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="a row that came twice, or that nobody wrote"):
        way({"t": FED}, told((0, 0, 100, 400), row, ends=[1, 0]), (0, 1_000))


def test_freshness_is_by_the_nearest_rank() -> None:
    found = Freshness.of([n / 10 for n in range(1, 101)])
    assert (found.p50, found.p99) == (5.0, 9.9)
    assert Freshness.of([]) == Freshness(0, None, None)


GOOD = Way(Freshness(500, 0.5, 1.0), Freshness(100, 0.5, 1.0), rows=600, lost=0, lost_before=9, batches=60)


def judged(may_wait_s: float = 0.0, **aligned: Any) -> list[str]:
    return broken([Outcome("c", GOOD, replace(GOOD, **aligned), may_wait_s, odd_may_wait_s=0.0)])


def test_a_claim_that_an_aligned_run_breaks_is_named() -> None:
    assert judged() == []
    assert judged(others=Freshness(500, 0.69, 1.19)) == []
    assert judged(others=Freshness(500, 0.71, 1.0)) == [
        "c: half of the rows are up to 0.21 s further behind than in plain Spark, and may be 0 s"
    ]
    assert judged(others=Freshness(500, 0.5, 1.21)) == [
        "c: 99 of 100 of the rows are up to 0.21 s further behind than in plain Spark, and may be 0 s"
    ]
    assert judged(20.0, others=Freshness(500, 20.6, 21.1)) == []
    assert len(judged(20.0, others=Freshness(500, 20.8, 21.3))) == 2
    assert judged(others=Freshness(349, 0.5, 1.0)) == [
        "c: 349 rows of the partitions on time came, and in plain Spark 500"
    ]
    assert judged(odd=Freshness(100, 0.71, 1.0)) == [
        "c: half of the odd partitions' own rows are up to 0.21 s behind, and may be 0 s"
    ]
    assert judged(odd=Freshness(0, None, None)) == []
    assert judged(lost=1) == ["c: 1 of 600 rows lost, though all producers had shown how they are"]


def test_in_a_group_the_furthest_behind_of_all_topics_is_waited_for_and_the_news_of_it() -> None:
    case = Case(SHAPES["one lags 30 s"], group=True)
    feds = {
        name: Fed([[]] * 4, [0] * 4, [shape.odd(n) for n in range(4)])
        for name, shape in zip("ab", case.topics, strict=True)
    }
    nothing = {name: {"rows": [], "ends": {}, "batches": 0} for name in "ab"}
    found = outcome(case, feds, {"native": nothing, "aligned": nothing}, 10_000, (0, 1))
    assert (found.may_wait_s, found.odd_may_wait_s) == (21.1, 0.0)
    alone = outcome(
        Case(SHAPES["one lags 30 s"]), {"a": feds["a"]}, {"native": nothing, "aligned": nothing}, 10_000, (0, 1)
    )
    assert alone.may_wait_s == 20.1
    assert "| one lags 30 s, as fast as possible, in a group | –, – | –, – | –, – | 21.1 |" in table([found])
