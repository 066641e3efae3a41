"""What is told of a log is never more than its records justify, whatever look-ups name: a model of
logs with markers of transactions, aborted runs, open transactions, holes of compaction, and stamps
of arrival, against a plain search; and how many reads that takes.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.plan.model import Head
from lockgate_spark import Alignment
from lockgate_spark.event_times import Credible
from lockgate_spark.logs import kafka, requests
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.planning.planner import Planner
from lockgate_spark.planning.steps import Query
from support.ends import look
from support.marked_logs import Entry, JvmMarkedLog, Kind, MarkedSource
from support.runs import RunInMemory

RECORD, MARKER, ABORTED, COMPACTED = Kind.RECORD, Kind.MARKER, Kind.ABORTED, Kind.COMPACTED
LATEST = 10**6
FAR = 10**9
SECOND = 1_000


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Entry], list[int]]:
    """A log whose records are in order and behind the clock, and the offsets at which transactions
    were open for long.
    """
    log: list[Entry] = []
    opened: list[int] = []
    by_arrival = draw(st.booleans())
    clock, last = 10_000, 0
    for _ in range(draw(st.integers(0, 12))):
        what = draw(st.sampled_from(("plain", "commit", "commit", "commit", "abort", "markers")))
        begun = len(log)
        for _ in range(0 if what == "markers" else draw(st.integers(1, 4))):
            clock += draw(st.integers(0, 3_000))
            last = max(last, clock - draw(st.sampled_from((0, 100, 5_000, 40_000))))
            stamp = clock if by_arrival else draw(st.sampled_from((last, last, last, last, FAR)))
            kind = ABORTED if what == "abort" else draw(st.sampled_from((RECORD, RECORD, RECORD, COMPACTED)))
            log.append(Entry(kind, stamp))
        if what != "plain":
            clock += draw(st.sampled_from((1, 500, 20_000)))
            log += [Entry(MARKER, clock)] * draw(st.integers(1, 3))
            opened += [begun] * draw(st.integers(0, 1))
    return log, opened


LOGS = st.lists(histories(), min_size=1, max_size=3)


def of(drawn: list[tuple[list[Entry], list[int]]], committed: bool, window: int) -> JvmMarkedLog:
    entries = {f"t-{n}": log for n, (log, _) in enumerate(drawn)}
    return JvmMarkedLog({}, entries=entries, committed=committed, window=window)


def credible(jvm: JvmMarkedLog, split: str, start: int, end: int) -> list[tuple[int, int]]:
    return [record for record in jvm.sent(split, start, end) if record[1] <= LATEST]


@given(LOGS, st.booleans(), st.booleans(), st.sampled_from((1, 3, 50)), st.booleans(), st.data())
def test_no_answer_exceeds_what_the_records_below_the_ends_justify(
    drawn: list[tuple[list[Entry], list[int]]],
    committed: bool,
    in_payload: bool,
    window: int,
    knows_highest: bool,
    data: st.DataObject,
) -> None:
    jvm = of(drawn, committed, window)
    jvm.knows_highest = knows_highest
    log = KafkaSplitLog(jvm, in_payload=in_payload)
    whole, positions = jvm.entries, dict.fromkeys(jvm.entries, 0)
    jvm.entries = {split: [] for split in whole}
    log.set_splits(positions)
    target = 0
    for _ in range(data.draw(st.integers(1, 6))):
        for n, split in enumerate(whole):  # the logs grow, and some transactions are open
            jvm.entries[split] = whole[split][: data.draw(st.integers(len(jvm.entries[split]), len(whole[split])))]
            stables = [offset for offset in drawn[n][1] if offset >= jvm.stable.get(split, 0)]
            jvm.stable[split] = data.draw(st.sampled_from([*stables, len(whole[split])]))
        log.begin_plan(Credible(0, LATEST))
        ends = {split: max(positions[split], jvm.shown(split)) for split in whole}
        look(log, 1, positions, ends)
        heads = log.heads(positions, ends)
        for split in whole:
            unread = credible(jvm, split, positions[split], ends[split])
            assert (heads[split].event_time if split in heads else None) == (unread[0][1] if unread else None)
            assert not unread or positions[split] <= heads[split].offset <= unread[0][0]
        if data.draw(st.booleans()):
            log.sample(positions, ends)
        highest = log.highest(ends)
        for split in whole:
            below = [event_time for _, event_time in credible(jvm, split, 0, ends[split])]
            # in an ordered log the last one is the highest
            assert highest.get(split) == (below[-1] if below else None)
        target = data.draw(st.integers(0, 60_000))
        stops = log.first_after(target, positions, ends)
        anew = 0
        while not log.confirm(target, stops, ends):
            anew += 1
            assert anew <= kafka.MOST_ANEW + 1
            log.heads(positions, ends)
            stops = log.first_after(target, positions, ends)
        for split in whole:
            cut = stops[split].offset if split in stops else ends[split]
            assert all(event_time <= target for _, event_time in credible(jvm, split, positions[split], cut))
            assert all(event_time > target for _, event_time in credible(jvm, split, cut, ends[split]))
        log.remember_plan(stops)
        positions = {split: stops[split].offset if split in stops else ends[split] for split in whole}


def transactions(commits: int, records: int, lag_s: int = 40, every_s: int = 8) -> list[Entry]:
    """So many records between two markers, in order, of `lag_s` before the commit."""
    log = []
    for n in range(1, commits + 1):
        log += [Entry(RECORD, (n * every_s - lag_s) * SECOND + 10**6 + k) for k in range(records)]
        log.append(Entry(MARKER, n * every_s * SECOND + 10**6))
    return log


@pytest.mark.parametrize(("records", "unread"), [(1, True), (5, True), (5, False), (500, False)])
def test_steady_plan_reads_once_after_a_commit_and_else_nothing(records: int, unread: bool) -> None:
    whole = transactions(30, records)
    jvm = JvmMarkedLog({}, entries={"t-0": []}, window=50)
    log, size, read = KafkaSplitLog(jvm), records + 1, []
    log.set_splits(jvm.entries)
    for commit in range(1, 31):
        for _ in range(3):
            jvm.entries["t-0"] = whole[: commit * size]
            ends = {"t-0": commit * size}
            # Either all that the commit has brought is unread, or nothing is: it was read while the
            # plan before was made.
            positions = {"t-0": (commit - 1) * size if unread else commit * size}
            before = jvm.reads
            log.begin_plan(Credible())
            look(log, 1, positions, ends)
            log.heads(positions, ends)
            assert log.highest(ends) == {"t-0": whole[commit * size - 2].stamp}
            log.remember_plan({})
            read.append(jvm.reads - before)
    assert read[3:] == [1, 0, 0] * 29


def test_growing_log_of_markers_is_read_once_in_each_plan() -> None:
    whole = transactions(200, 1)
    jvm = JvmMarkedLog({}, entries={"t-0": []}, window=50, committed=False)
    log, read = KafkaSplitLog(jvm), []
    log.set_splits(jvm.entries)
    for end in range(1, 401):
        jvm.entries["t-0"], before = whole[:end], jvm.reads
        log.begin_plan(Credible())
        look(log, 1, {"t-0": end}, {"t-0": end})
        assert log.highest({"t-0": end}) == {"t-0": whole[(end - 1) // 2 * 2].stamp}
        log.remember_plan({})
        read.append(jvm.reads - before)
    assert max(read[4:]) == 1


def test_old_brokers_are_asked_for_highest_once_and_then_logs_are_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "lockgate")
    jvm = JvmMarkedLog(
        {}, entries={"t-0": [Entry(RECORD, 5), Entry(RECORD, 9), Entry(MARKER, 70)]}, knows_highest=False
    )
    log, ends, asked = KafkaSplitLog(jvm), {"t-0": 3}, []
    log.set_splits(ends)
    for _ in range(3):
        before = log.requests.made
        look(log, 1, ends, ends)
        assert log.highest(ends) == {"t-0": 9}
        log.remember_plan({})
        asked.append(log.requests.made - before)
    assert asked[1:] == [0, 0]
    assert len(caplog.messages) == 1
    assert "do not support look-ups of the highest timestamp" in caplog.messages[0]


def reads_as_it_grows(
    entries: list[Entry], first: int, knows_highest: bool = True
) -> tuple[list[int | None], list[int]]:
    """The highest in each of the plans that see the log up to `first`, `first` + 1, … with nothing
    unread, and how often each has read.
    """
    jvm, found, reads = JvmMarkedLog({}, entries={"t-0": []}, window=50, knows_highest=knows_highest), [], []
    log = KafkaSplitLog(jvm)
    log.set_splits(jvm.entries)
    log.begin_plan(Credible(0, LATEST))
    for end in range(first, len(entries) + 1):
        jvm.entries["t-0"], before = entries[:end], jvm.reads
        look(log, 1, {"t-0": end}, {"t-0": end})
        found.append(log.highest({"t-0": end}).get("t-0"))
        log.remember_plan({})
        reads.append(jvm.reads - before)
    return found, reads


def test_highest_record_is_found_and_lower_ones_cost_no_read() -> None:
    entries = [Entry(RECORD, 9_000 if n == 100 else n) for n in range(510)]
    assert reads_as_it_grows(entries, 500) == ([9_000] * 11, [1] + [0] * 10)


def test_a_marker_above_all_that_follow_it_is_looked_at_once() -> None:
    entries = [Entry(MARKER, 9_000) if n == 100 else Entry(RECORD, n) for n in range(510)]
    assert reads_as_it_grows(entries, 500) == ([*range(499, 510)], [2] + [1] * 10)


def test_tail_without_credible_record_is_searched_once_for_each_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MOST_PASSED", 2)
    jvm = JvmMarkedLog({}, entries={"t-0": [Entry(RECORD, 5)] + [Entry(RECORD, FAR)] * 40})
    log, ends = KafkaSplitLog(jvm), {"t-0": 41}
    log.set_splits(ends)
    log.begin_plan(Credible(0, LATEST))
    assert log.highest(ends) == {"t-0": 5}
    before = jvm.reads
    log.remember_plan({})
    assert log.highest(ends) == {"t-0": 5}
    assert jvm.reads == before


def test_last_record_is_searched_for_below_markers() -> None:
    entries = [Entry(RECORD, n) for n in range(5)] + [Entry(MARKER, 9_000)] * 5
    jvm = JvmMarkedLog({}, entries={"t-0": entries[:8]}, knows_highest=False)
    log = KafkaSplitLog(jvm)
    log.set_splits(jvm.entries)
    assert log.heads({"t-0": 5}, {"t-0": 8}) == {}
    jvm.entries["t-0"] = entries
    assert log.highest({"t-0": 10}) == {"t-0": 4}


def test_a_topic_made_anew_is_not_taken_to_have_come_as_far_as_the_old_one() -> None:
    jvm = JvmMarkedLog({}, entries={"t-0": [Entry(RECORD, 10 * n) for n in range(50)]}, window=50)
    log = KafkaSplitLog(jvm)
    log.set_splits(jvm.entries)
    assert log.highest({"t-0": 50}) == {"t-0": 490}
    jvm.entries["t-0"] = [Entry(RECORD, 3)]
    log.remember_plan({})
    look(log, 2, {"t-0": 0}, {"t-0": 1})
    assert log.highest({"t-0": 1}) == {"t-0": 3}


def late_rows(committed: bool, budget: int | None) -> int:
    """Rows that Spark drops at a delay of 20 s: ten minutes of p0, 40 s behind the clock in
    transactions of 9 s, beside p1 on time.
    """
    delay, lag, clock = 20 * SECOND, 40 * SECOND, 10**9
    jvm = JvmMarkedLog({}, entries={"t-0": [], "t-1": []}, committed=committed, window=50)
    source, now, opened = MarkedSource(jvm, budget), clock, 0
    alignment = Alignment(max_drift="20 seconds", idle_timeout="1 minute", max_out_of_orderness=0)
    planner = Planner(Query(alignment, RunInMemory(), None, {0: source}), lambda: now / SECOND, lambda: now / SECOND)
    positions, top, late, read = source.initial(), 0, 0, 0
    for second in range(700):
        now = clock + second * SECOND
        if second < 603:
            jvm.entries["t-1"].append(Entry(RECORD, now))
            jvm.entries["t-0"].append(Entry(RECORD, now - lag))
            if second % 9 == 8:
                jvm.entries["t-0"].append(Entry(MARKER, now))
                opened = len(jvm.entries["t-0"])
            jvm.stable["t-0"] = opened
        ends = planner.carry_out(planner.plan({0: positions}))[0]
        rows = [event_time for split in ends for _, event_time in jvm.sent(split, positions[split], ends[split])]
        late += sum(event_time <= top - delay for event_time in rows)
        top, positions, read = max([top, *rows]), ends, read + len(rows)
    assert read == sum(entry.kind is RECORD for log in jvm.entries.values() for entry in log), (
        "and all are read in the end"
    )
    return late


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("budget", [None, 7])
def test_late_producer_in_transactions_loses_no_row_within_the_bounds(committed: bool, budget: int | None) -> None:
    assert late_rows(committed, budget) == 0


class SlicedRun(RunInMemory):
    """A run that begins, and keeps nothing."""

    def memory(self, name: str = "") -> "SlicedRun":
        return self

    def read(self) -> list[str]:
        return []

    def write(self, number: int, text: str) -> None: ...


def test_what_a_plan_is_cut_to_below_its_own_target_is_looked_at_too() -> None:
    entries = [
        Entry(RECORD, 0),
        Entry(MARKER, 10_500),
        Entry(RECORD, 9_500),
        Entry(RECORD, 11_000),
        Entry(RECORD, 12_000),
    ]
    source = MarkedSource(JvmMarkedLog({}, entries={"t-0": entries}), budget=4)
    alignment = Alignment(max_drift="1 minute", slice="10 seconds")
    planner = Planner(Query(alignment, SlicedRun(), None, {0: source}), lambda: 10.0**6, lambda: 10.0**6)
    plan = planner.plan({0: {"t-0": 0}}).plan
    assert plan.target == 9_999, "where a window ends, and not at the budget"
    assert plan.splits[0, "t-0"].end == 3


@given(st.integers(0, 400), st.integers(1, 300))
def test_result_of_look_up_is_read_again_only_if_the_log_has_grown(markers: int, records: int) -> None:
    entries = [Entry(RECORD, n) for n in range(records)] + [Entry(MARKER, 10**6)] * markers
    jvm = JvmMarkedLog({}, entries={"t-0": entries}, window=50)
    log, ends = KafkaSplitLog(jvm), {"t-0": len(entries)}
    log.set_splits(ends)
    assert log.highest(ends) == {"t-0": records - 1}
    read = jvm.reads
    log.remember_plan({})
    assert log.highest(ends) == {"t-0": records - 1}
    assert jvm.reads == read


def test_a_plan_is_made_anew_for_what_hides_little_and_look_ups_go_on(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "lockgate")
    entries = [Entry(RECORD, 0), Entry(MARKER, 1_500), Entry(RECORD, 1_000), Entry(RECORD, 2_000)]
    log, ends, starts = KafkaSplitLog(JvmMarkedLog({}, entries={"t-0": entries})), {"t-0": 4}, {"t-0": 0}
    log.set_splits(ends)
    log.heads(starts, ends)
    (named,) = log.first_after(1_200, starts, ends).values()
    assert named == Head(1, 1_500)
    assert not log.confirm(1_200, {"t-0": named}, ends)
    assert log.first_after(1_200, starts, ends) == {"t-0": Head(3, 2_000)}
    assert log.first_after(800, starts, ends) == {"t-0": Head(1, 1_000)}, (
        "the marker's place, and the time of the record behind it"
    )
    assert caplog.messages == []
    assert log.confirm(800, log.first_after(800, starts, ends), ends)
    log.remember_plan({"t-0": named})
    assert log.heads({"t-0": 1}, ends) == {"t-0": Head(1, 1_000)}, "nobody is told the marker's time"
    for _ in range(kafka.MOST_ANEW):
        assert not log.confirm(1_200, {"t-0": named}, ends)
    assert len(caplog.messages) == 1
