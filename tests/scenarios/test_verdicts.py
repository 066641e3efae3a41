"""The judge notices each fault, and blames a query only for those that its promise covers."""

from dataclasses import replace

import pytest
from seeded.judging import SURELY_ENOUGH, allowed_s, judge
from seeded.played import AVAILABLE_NOW, Batch, BatchWindows, Lane, Look, Played, Record, Run, Split
from seeded.scenario import Act, Kind, Operator, Query, Scenario, Source, Stop

A, B = Split("a", 0), Split("a", 1)
NOW = 1_000_000_000.0
QUERY = Query(Operator.DEDUP, delay_ms=10_000, size_ms=1_000, sources=(Source(("a",)),))


def scenario(query: Query = QUERY, **fields: object) -> Scenario:
    return replace(Scenario(1, Kind.REPLAY, "by hand", query, ()), **fields)  # type: ignore[arg-type]


def record(n: int, split: Split, offset: int, event_time: float, visible_at: float = 0, live: bool = False) -> Record:
    return Record(n, 0, split, offset, int(event_time), visible_at, visible_at, live)


def lane(*batches: Batch, began_at: float = NOW, available_now: bool = True, **fields: object) -> Lane:
    run = Run(began_at, batches[-1].finished_at, 0, aligned=True, available_now=available_now)
    return replace(Lane(batches, (run,), {A: 0, B: 0}), **fields)  # type: ignore[arg-type]


def batch(number: int, at: float, a: int, b: int, *given: int) -> Batch:
    return Batch(number, at, at + 100, 0, {A: a, B: b}, tuple((n,) for n in given))


LOGS = (record(0, A, 0, 0), record(1, A, 1, 50_000), record(2, B, 0, 1_000), record(3, B, 1, 49_000))
EXACT = lane(batch(0, NOW + 100, 1, 1, 0, 2), batch(1, NOW + 500, 2, 2, 1, 3))


def test_nothing_is_held_against_an_exact_replay() -> None:
    found = judge(scenario(), Played(LOGS, EXACT, EXACT))
    assert found.broken == ()
    assert (found.rows, found.lost, found.inside, found.duplicates, found.unread, found.native_lost) == (
        4,
        0,
        0,
        0,
        0,
        0,
    )


def test_a_row_that_is_missing_is_lost_and_was_promised_where_it_lay_in_the_log() -> None:
    drifted = lane(batch(0, NOW + 100, 2, 0, 0, 1), batch(1, NOW + 500, 2, 2, 3))
    found = judge(scenario(), Played(LOGS, drifted, EXACT))
    assert (found.lost, found.inside) == (1, 1)
    assert found.broken == ("1 rows lost that the promise keeps",)


def test_a_row_that_comes_twice_is_one_too_many() -> None:
    twice = lane(batch(0, NOW + 100, 1, 1, 0, 2), batch(1, NOW + 500, 2, 2, 1, 2, 3))
    found = judge(scenario(), Played(LOGS, twice, EXACT))
    assert found.duplicates == 1
    assert found.broken == ("1 rows too many",)


def test_a_row_that_was_left_unread_is_told_of_only_where_all_was_to_be_read() -> None:
    first = lane(batch(0, NOW + 100, 1, 1, 0, 2))
    assert judge(scenario(), Played(LOGS, first)).broken == ()
    looked = replace(first, looks=(Look(AVAILABLE_NOW, NOW, NOW + 900),))
    assert judge(scenario(), Played(LOGS, looked)).unread == 2


def test_rows_that_were_read_too_late_count_as_left_unread() -> None:
    looked = replace(EXACT, looks=(Look("processAllAvailable()", NOW, NOW + 300),))
    assert judge(scenario(), Played(LOGS, looked)).unread == 2


def test_rows_that_come_after_a_run_began_are_not_for_it_to_read() -> None:
    looked = replace(EXACT, looks=(Look(AVAILABLE_NOW, NOW, NOW + 900),))
    later = record(4, B, 2, 60_000, visible_at=NOW + 50)
    assert judge(scenario(), Played((*LOGS, later), looked)).unread == 0


@pytest.mark.parametrize(
    ("appended_s_ago", "level_at", "alignment", "unread"),
    [
        (59, 11_000, {"max_out_of_orderness": 0}, 1),
        (61, 11_000, {"max_out_of_orderness": 0}, 2),
        (59, 6_000, {}, 1),  # it is taken to be out of order by half of the drift
        (59, 6_001, {}, 0),
    ],
)
def test_a_run_may_leave_what_is_above_a_live_split_by_more_than_the_drift(
    appended_s_ago: int, level_at: int, alignment: dict[str, int], unread: int
) -> None:
    _, above, low, level = LOGS
    behind = (
        replace(low, visible_at=NOW - appended_s_ago * 1_000),
        replace(level, split=A, offset=2, event_time=level_at),
    )
    first = replace(lane(batch(0, NOW + 100, 1, 1, 0, 2)), looks=(Look(AVAILABLE_NOW, NOW, NOW + 900),))
    query = replace(QUERY, alignment=alignment)
    assert judge(scenario(query), Played((LOGS[0], above, *behind), first)).unread == unread


# -- what a live producer had shown --


def live(shown_at: float | None, lag: float, **alignment: int) -> tuple[Scenario, Played]:
    """Split B brings a row `lag` behind the clock, which A's rows have made late; one as far behind
    it had brought at `shown_at`.
    """
    start, culprit = NOW - 60_000, NOW
    rows = [record(0, A, 0, NOW - 20_000, NOW - 20_000, True), record(1, A, 1, culprit - 10, culprit - 5_000, True)]
    if shown_at is not None:
        rows.append(record(2, B, 0, shown_at - lag, shown_at, True))
    late = record(3, B, len(rows) - 2, NOW + 100 - lag, NOW + 100, True)
    query = replace(QUERY, alignment=alignment)
    batches = (
        batch(0, NOW - 10_000, 1, len(rows) - 2, 0, *([2] if shown_at is not None else [])),
        batch(1, culprit, 2, len(rows) - 2, 1),
        batch(2, NOW + 400, 2, len(rows) - 1),
    )
    return scenario(query), Played((*rows, late), lane(*batches, began_at=start, available_now=False))


def test_a_row_as_far_behind_as_its_producer_had_shown_is_inside_the_claim() -> None:
    assert judge(*live(NOW - 30_000, lag=25_000)).inside == 1


@pytest.mark.parametrize("shown_at", [None, NOW - 1_000, NOW - 90_000])
def test_a_row_further_behind_than_was_shown_while_the_query_ran_and_long_enough_ago_is_lost_outside_it(
    shown_at: float | None,
) -> None:
    found = judge(*live(shown_at, lag=25_000))
    assert (found.lost, found.inside) == (1, 0)


def test_a_row_within_a_declared_idle_timeout_is_inside_the_claim_and_one_beyond_is_not() -> None:
    assert judge(*live(None, lag=25_000, idle_timeout=30_000)).inside == 1
    assert judge(*live(NOW - 30_000, lag=25_000, idle_timeout=20_000)).inside == 0


def test_a_row_that_is_more_out_of_order_than_promised_is_outside_the_claim() -> None:
    drifted = lane(batch(0, NOW + 100, 2, 1, 0, 1, 3), batch(1, NOW + 500, 2, 2))
    logs = (*LOGS[:2], replace(LOGS[3], offset=0), replace(LOGS[2], offset=1))
    assert judge(scenario(), Played(logs, drifted)).inside == 0
    promised = replace(QUERY, alignment={"max_out_of_orderness": 48_000})
    assert judge(scenario(promised), Played(logs, drifted)).inside == 1


def test_a_row_that_is_missing_though_no_batch_made_it_late_is_inside_the_claim() -> None:
    forgotten = lane(batch(0, NOW + 100, 1, 1, 0), batch(1, NOW + 500, 2, 2, 1, 3))
    assert (
        judge(scenario(), Played((LOGS[0], LOGS[1], replace(LOGS[2], event_time=48_500), LOGS[3]), forgotten)).inside
        == 1
    )


def test_a_row_that_came_after_a_run_under_available_now_had_begun_is_outside_the_claim() -> None:
    drifted = lane(batch(0, NOW + 100, 2, 0, 0, 1), batch(1, NOW + 500, 2, 2, 3))
    later = replace(LOGS[2], sent_at=NOW + 50, visible_at=NOW + 50)
    for available_now, inside in ((True, 0), (False, 1)):
        runs = (replace(drifted.runs[0], available_now=available_now),)
        assert judge(scenario(), Played((*LOGS[:2], later, LOGS[3]), replace(drifted, runs=runs))).inside == inside


def test_a_row_in_a_transaction_open_under_available_now_is_inside_the_claim() -> None:
    drifted = lane(batch(0, NOW + 100, 2, 0, 0, 1), batch(1, NOW + 500, 2, 2, 3))
    hidden = replace(LOGS[2], sent_at=NOW - 50, visible_at=NOW + 50_000)
    assert judge(scenario(), Played((*LOGS[:2], hidden, LOGS[3]), drifted)).inside == 1


def test_a_row_that_an_observed_query_loses_is_outside_the_claim() -> None:
    drifted = lane(batch(0, NOW + 100, 2, 0, 0, 1), batch(1, NOW + 500, 2, 2, 3))
    observed = replace(QUERY, alignment={"mode": "observe"})
    assert judge(scenario(observed), Played(LOGS, drifted)).inside == 0


HOUR = 3_600_000


@pytest.mark.parametrize(
    ("shown_before", "lag", "inside"),
    [
        (30_000, HOUR // 2, 1),
        (2 * HOUR, HOUR // 2, 0),  # no longer remembered
        (30_000, 3 * HOUR, 1),
        (90_000, 3 * HOUR, 0),  # it is silent, and so is waited for an hour at most
        (30_000, 25 * HOUR, 0),  # so far behind, a producer holds nobody
    ],
)
def test_a_shown_lag_counts_while_it_is_remembered(shown_before: int, lag: float, inside: int) -> None:
    found, played = live(NOW - shown_before, lag)
    runs = (replace(played.aligned.runs[0], began_at=NOW - 3 * HOUR),)
    assert judge(found, replace(played, aligned=replace(played.aligned, runs=runs))).inside == inside


@pytest.mark.parametrize(("began", "inside"), [(NOW - 1_000, 1), (NOW - 5_000, 0)])
def test_a_producer_that_appends_as_a_run_begins_is_watched(began: float, inside: int) -> None:
    found, played = live(None, lag=25_000)
    runs = (replace(played.aligned.runs[0], began_at=began),)
    assert judge(found, replace(played, aligned=replace(played.aligned, runs=runs))).inside == inside


def test_a_row_within_the_drift_is_inside_the_claim_whatever_was_shown() -> None:
    found, played = live(None, lag=11_000)
    assert judge(found, played).inside == 0
    within = replace(found.query, delay_ms=2_000, alignment={"max_drift": 12_000})
    assert judge(replace(found, query=within), played).inside == 1


def test_a_row_that_a_native_batch_made_late_is_none_of_alignment_s() -> None:
    drifted = lane(batch(0, NOW + 100, 2, 0, 0, 1), batch(1, NOW + 500, 2, 2, 3))
    natively = replace(drifted, runs=(replace(drifted.runs[0], aligned=False),))
    assert judge(scenario(), Played(LOGS, natively)).inside == 0


# -- seconds --


def waiting(seconds: float) -> Lane:
    rows = tuple(Batch(n, NOW, NOW + n * 100 + seconds * 1_000, 0, {A: n + 1}, ((n,),)) for n in range(50))
    return lane(*rows, available_now=False)


FEED = tuple(record(n, A, n, NOW + n * 100, NOW + n * 100, True) for n in range(50))


def test_a_query_that_is_seconds_behind_what_it_is_natively_is_not_fresh() -> None:
    late = judge(scenario(fresh=True), Played(FEED, waiting(4), waiting(0.5)))
    assert late.behind is not None
    assert late.behind.p50 == 4
    assert "4.0 s behind the producers at p50, natively 0.5 s, and 0.0 s may be waited" in late.broken
    assert judge(scenario(fresh=True), Played(FEED, waiting(1.3), waiting(0.5))).broken == ()


def test_rows_that_were_never_read_are_behind_until_the_end() -> None:
    held = replace(waiting(0.5), batches=waiting(0.5).batches[:1], runs=(Run(NOW, NOW + 60_000, 0, True, False),))
    found = judge(scenario(fresh=True), Played(FEED, held, waiting(0.5)))
    assert found.behind is not None
    assert found.behind.p50 > 50


def test_a_row_waits_only_while_the_query_runs() -> None:
    runs = (Run(NOW, NOW + 3_000, 0, True, False), Run(NOW + 90_000, NOW + 99_000, 1, True, False))
    rest = Batch(1, NOW + 91_000, NOW + 91_000, 0, {A: 50}, tuple((n,) for n in range(1, 50)))
    back = replace(waiting(0.5), batches=(waiting(0.5).batches[0], rest), runs=runs)
    found = judge(scenario(fresh=True), Played(FEED, back, waiting(0.5)))
    assert found.behind is not None
    assert found.behind.p99 < 5


def test_a_query_may_wait_for_a_producer_s_lag_less_the_drift() -> None:
    behind = replace(FEED[0], split=B, offset=0, event_time=int(NOW - 14_000))
    assert judge(scenario(fresh=True), Played((*FEED, behind), waiting(4), waiting(0.5))).broken == ()


@pytest.mark.parametrize(
    ("lag_s", "alignment", "allowed"),
    [
        (14, {"max_out_of_orderness": 0}, (4.0, 7.5)),
        (14, {}, (9.0, 12.5)),  # one record of that split came: it is taken to be out of order by 5 s
        (0.1, {}, (0.0, 0.0)),
        (14, {"idle_timeout": 25_000}, (15.0, 15.0)),
    ],
)
def test_a_query_may_wait_longer_for_a_silent_producer_and_while_few_of_its_records_were_seen(
    lag_s: float, alignment: dict[str, int], allowed: tuple[float, float]
) -> None:
    behind = replace(FEED[0], split=B, offset=0, event_time=int(NOW - lag_s * 1_000))
    assert allowed_s(replace(QUERY, alignment=alignment), Played((*FEED, behind), waiting(4))) == allowed


def test_records_of_a_late_split_that_many_have_seen_are_taken_to_be_in_order_at_the_median() -> None:
    many = tuple(record(n, B, n, NOW - 14_000, NOW, True) for n in range(SURELY_ENOUGH))
    assert allowed_s(QUERY, Played(many, waiting(4))) == (4.0, 12.5)


def test_a_run_that_waits_under_available_now_is_told_of() -> None:
    long = replace(EXACT, runs=(replace(EXACT.runs[0], ended_at=NOW + 60_000),))
    (broken,) = judge(scenario(fresh=True), Played(LOGS, long, EXACT)).broken
    assert broken.startswith("a run under availableNow took 60.0 s")


# -- slices, and the end --


def test_a_slice_that_is_called_complete_and_lacks_a_row_is_told_of_even_where_kafka_has_deleted_it() -> None:
    query = replace(QUERY, operator=Operator.ROWS, alignment={"slice": 10_000})
    whole = BatchWindows(0, 0, 10_000, complete=True, rows=(0, 2))
    for rows, broken in (((0, 2), 0), ((0,), 1)):
        made = replace(EXACT, slices=(replace(whole, rows=rows),))
        assert len(judge(scenario(query), Played(LOGS, made, deleted={B: 1})).broken) == broken


@pytest.mark.parametrize(
    ("most", "acts", "complete", "missed"),
    [
        (100, (), (), "3 of 3"),
        (100, (), ((0, 10_000),), "2 of 3"),
        (100, (), ((0, 10_000), (40_000, 60_000)), None),
        (2, (), ((40_000, 60_000),), "1 of 3"),
        (1, (), ((40_000, 60_000),), None),  # the first window has two records
        (1, (), ((40_000, 50_000),), "1 of 2"),
        (0, (), (), None),
        (100, (Stop(killed=True),), ((0, 10_000),), None),
        (100, (Stop(killed=True),), (), "3 of 3"),
        (100, (Stop(),), ((0, 10_000),), "2 of 3"),
    ],
)
def test_windows_that_are_in_no_complete_slice_are_told_of_where_the_read_limit_holds_them(
    most: int, acts: tuple[Act, ...], complete: tuple[tuple[int, int], ...], missed: str | None
) -> None:
    source = Source(("a",), options={"maxOffsetsPerTrigger": most})
    query = replace(QUERY, operator=Operator.ROWS, alignment={"slice": 10_000}, sources=(source,))
    made = tuple(BatchWindows(n, *window, complete=True, rows=(0, 1, 2, 3)) for n, window in enumerate(complete))
    torn = BatchWindows(9, 0, 60_000, complete=False, rows=(0, 1, 2, 3))
    found = judge(scenario(query, whole=True, acts=acts), Played(LOGS, replace(EXACT, slices=(*made, torn)))).broken
    assert found == (() if missed is None else (f"{missed} windows within the read limit are in no complete slice",))


def test_a_query_that_dies_is_told_of_unless_it_dies_natively_too() -> None:
    died = replace(EXACT, failure="no topic")
    assert judge(scenario(), Played(LOGS, died, EXACT)).broken == ("the query died: no topic",)
    both = judge(scenario(), Played(LOGS, died, died))
    assert both.broken == ()
    assert both.notes[0] == "natively the query died: no topic"


def test_more_rows_lost_than_natively_is_told_of() -> None:
    rows = tuple(record(n, A, n, n) for n in range(100))
    nothing = lane(Batch(0, NOW, NOW, 0, {A: 100}))
    all_of_it = lane(Batch(0, NOW, NOW, 0, {A: 100}, tuple((n,) for n in range(100))))
    assert "100 rows lost, more than the 0 natively" in judge(scenario(), Played(rows, nothing, all_of_it)).broken
