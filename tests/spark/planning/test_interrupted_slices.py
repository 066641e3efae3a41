"""Which windows are not handed out as complete, since records of theirs were deleted or lie before
what the query reads.
"""

import logging
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lockgate_spark import BatchSlice
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.planning.aligned_run import AlignedRun
from support.runs import RunInMemory, TwoTexts
from support.sessions import T0, TimeInMemory, minutes, session
from support.trimmed import TrimmedSource
from support.zones import zone

EVERY_5_S = [n / 12 for n in range(4 * 720)]  # four hours, from 00:00 on


class Reader:
    """A query that reads slices of an hour, batch after batch; `again` is the next run on its
    checkpoint.
    """

    def __init__(self, source: TrimmedSource, **alignment: object) -> None:
        self.source, self.kept, self.alignment = (
            source,
            TwoTexts(),
            {"slice": "1 hour", "max_out_of_orderness": 0, **alignment},
        )
        self.position = source.initial()
        self.slices: list[BatchSlice] = []
        self._run: AlignedRun | None = None

    def read(self, batches: int = 1_000) -> "Reader":
        if self._run is None:
            logged = {0: dict(self.position)} if self.slices else {}
            self._run = session(self.source, run=RunInMemory(logged=logged, kept=self.kept), **self.alignment)
        for _ in range(batches):
            end = self._run.latest_offset(0, self.position)
            if end == self.position:
                break
            assert self._run.slice is not None
            self.slices.append(self._run.slice)
            self.position = end
        return self

    def again(self, **alignment: object) -> "Reader":
        self._run, self.alignment = None, {**self.alignment, **alignment}
        return self

    @property
    def whole(self) -> list[tuple[float, float]]:
        """From which to which hour the complete ones go."""
        return [hours(made) for made in self.slices if made.complete]

    @property
    def torn(self) -> list[tuple[float, float, tuple[str, ...]]]:
        return [(*hours(made), made.missing_from) for made in self.slices if not made.complete]


def hours(made: BatchSlice) -> tuple[float, float]:
    """The last slice of a replay goes on to the last window that is over by the clock, a month
    later: here to the end of the logs.
    """
    return (made.start - T0) / 3_600_000, min(4, (made.end - T0) / 3_600_000)


def feed(starts: Offsets | None = None, budget: int | None = None, **logs: list[float]) -> TrimmedSource:
    return TrimmedSource({name.replace("_", "-"): minutes(*log) for name, log in logs.items()}, starts, budget)


def test_from_the_beginning_of_its_log_every_window_is_whole() -> None:
    assert Reader(feed(a_0=EVERY_5_S, a_1=[200])).read().whole == [(0, 4)]


def test_hour_in_which_a_query_begins_is_incomplete_and_later_ones_not() -> None:
    one = Reader(feed({"a-0": 444}, a_0=EVERY_5_S)).read()
    assert one.torn == [(0, 1, ("a-0",))]
    assert one.whole == [(1, 4)]


def test_a_query_that_begins_with_an_hour_has_it() -> None:
    assert Reader(feed({"a-0": 720}, a_0=EVERY_5_S)).read().whole == [(1, 4)]


@pytest.mark.parametrize("begin", [444, 720])
def test_log_without_its_beginning_leaves_the_hour_incomplete(begin: int) -> None:
    one = Reader(feed(a_0=EVERY_5_S).trim("a-0", begin)).read()
    assert one.torn == [(begin // 720, begin // 720 + 1, ("a-0",))]
    assert one.whole == [(begin // 720 + 1, 4)]


def test_records_of_the_hour_before_show_that_the_next_is_complete() -> None:
    starts = {"a-0": 720}
    assert Reader(feed(starts, a_0=EVERY_5_S).trim("a-0", 700)).read().whole == [(1, 4)]
    one = Reader(feed(starts, a_0=EVERY_5_S).trim("a-0", 700), max_out_of_orderness="1 minute").read()
    assert one.torn == [(1, 2, ("a-0",))]


def test_a_straggler_before_the_start_betrays_that_the_hour_had_begun() -> None:
    log = [*EVERY_5_S[:700], 61, *EVERY_5_S[700:]]
    assert Reader(feed({"a-0": 721}, a_0=log)).read().torn == [(1, 2, ("a-0",))]


def test_hour_is_complete_if_no_record_before_it_has_an_event_time() -> None:
    source = feed({"a-0": 10}, a_0=EVERY_5_S)
    source.records["a-0"][:0] = [-1] * 10
    assert Reader(source).read().whole == [(0, 4)]


def test_each_split_is_looked_at_for_itself() -> None:
    starts = {"a-0": 720, "a-1": 720 + 444}
    one = Reader(feed(starts, a_0=EVERY_5_S, a_1=EVERY_5_S)).read()
    assert one.torn == [(1, 2, ("a-1",))]
    assert one.whole == [(2, 4)]


def test_an_emptied_log_does_not_tell_what_it_held() -> None:
    one = Reader(feed({"a-1": 9}, a_0=EVERY_5_S, a_1=[0.0] * 9).trim("a-1", 9)).read()
    assert one.whole == []
    assert {split for *_, splits in one.torn for split in splits} == {"a-1"}


def test_a_split_that_is_new_begins_at_0_and_leaves_windows_whole() -> None:
    one = Reader(feed(a_0=EVERY_5_S, budget=800)).read(1)
    one.source.records["a-1"] = minutes(70, 80)
    assert one.read().whole == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_deleted_unread_records_make_windows_incomplete() -> None:
    one = Reader(feed(a_0=EVERY_5_S, a_1=EVERY_5_S, budget=1_600)).read(1)
    one.source.trim("a-1", 2 * 720 + 100)
    one.read()
    assert one.torn == [(1, 2, ("a-1",)), (2, 3, ("a-1",))]
    assert one.whole == [(0, 1), (3, 4)]


def test_deleting_records_that_were_read_tears_nothing() -> None:
    one = Reader(feed(a_0=EVERY_5_S, budget=800)).read(2)
    one.source.trim("a-0", 2 * 720)
    assert one.read().torn == []
    assert one.again().read().torn == []


def test_restart_keeps_which_windows_are_complete() -> None:
    one = Reader(feed({"a-1": 2 * 720 + 100}, a_0=EVERY_5_S, a_1=EVERY_5_S, budget=1_500)).read(1).again().read()
    assert one.torn == [(0, 2, ("a-1",)), (2, 3, ("a-1",))]
    assert one.whole == [(3, 4)]


def test_deleting_records_while_the_query_is_away_tears_their_windows() -> None:
    one = Reader(feed(a_0=EVERY_5_S, budget=800)).read(1).again()
    one.source.trim("a-0", 720 + 444).budget = None
    one.read()
    assert one.torn == [(1, 2, ("a-0",))]
    assert one.whole == [(0, 1), (2, 4)]


def test_replayed_batch_with_deleted_records_is_incomplete() -> None:
    one = Reader(feed(a_0=EVERY_5_S, a_1=EVERY_5_S, budget=1_600)).read(2)
    logged = {0: dict(one.position)}

    def replayed() -> BatchSlice | None:
        return session(one.source, run=RunInMemory(logged=logged, kept=one.kept), **one.alignment).slice

    one.source.trim("a-1", 720)
    assert replayed() == one.slices[1]
    one.source.trim("a-1", 721)
    again = replayed()
    assert again is not None
    assert (again.complete, again.missing_from) == (False, ("a-1",))


def test_records_read_before_without_slices_are_missing_from_windows() -> None:
    one = Reader(feed({"a-0": 100, "a-1": 2 * 720 + 100}, a_0=EVERY_5_S, a_1=EVERY_5_S))
    run = RunInMemory(logged={0: dict(one.position)}, kept=one.kept)
    one._run = session(one.source, run=run, **one.alignment)
    one.read()
    assert [made[:2] for made in one.torn] == [(100 / 720, 3)]
    assert one.whole == [(3, 4)]


def test_changed_window_size_leaves_only_the_first_window_incomplete() -> None:
    one = Reader(feed(a_0=EVERY_5_S, budget=800)).read(1).again(slice="2 hours")
    one.source.budget = None
    assert one.read().whole == [(0, 1), (2, 4)]
    assert [made[:2] for made in one.torn] == [(1, 2)]


def test_hours_go_by_the_clocks_of_the_zone() -> None:
    one = Reader(feed(a_0=EVERY_5_S, budget=800))
    run = RunInMemory(kept=one.kept, clocks=zone("Asia/Kolkata"))
    one._run = session(one.source, run=run, **one.alignment)
    assert one.read().whole == [(-0.5, 0.5), (0.5, 1.5), (1.5, 2.5), (2.5, 3.5), (3.5, 4)]


def test_a_torn_window_is_warned_of_once_a_split_and_by_name(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "lockgate"):
        Reader(feed({"a-0": 444}, a_0=EVERY_5_S, budget=100)).read()
    told = [record.getMessage() for record in caplog.records if "are incomplete" in record.getMessage()]
    assert len(told) == 1
    assert "2026-01-01T00:00:00.000Z" in told[0]
    assert "earlier records of a-0 were deleted, or lie before" in told[0]


@settings(max_examples=150, deadline=None)
@given(
    logs=st.lists(st.lists(st.integers(0, 300), min_size=1, max_size=40), min_size=1, max_size=3),
    starts=st.lists(st.integers(0, 40), min_size=3, max_size=3),
    trims=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 40)), max_size=4),
    restarts=st.sets(st.integers(0, 5)),
    jitter=st.integers(0, 20),
    budget=st.integers(1, 60),
)
@example(logs=[[0]], starts=[0, 0, 0], trims=[(0, 0, 1)], restarts=set(), jitter=0, budget=1)  # a slice up to MAX
def test_a_complete_window_has_every_record_that_was_ever_written(
    logs: list[list[int]],
    starts: list[int],
    trims: list[tuple[int, int, int]],
    restarts: set[int],
    jitter: int,
    budget: int,
) -> None:
    """Logs are out of order by up to `jitter` minutes, begun anywhere, trimmed and restarted at any
    batch.
    """
    written = {
        f"a-{i}": [float(t + (n * 7919) % (jitter + 1)) for n, t in enumerate(sorted(log))]
        for i, log in enumerate(logs)
    }
    source = TrimmedSource({name: minutes(*log) for name, log in written.items()}, budget=budget)
    begun = {f"a-{i}": min(start, len(written[f"a-{i}"])) for i, start in enumerate(starts[: len(logs)])}
    one = Reader(source, max_out_of_orderness=f"{jitter} minutes", max_drift=f"{jitter + 1} minutes", idle_timeout=0)
    one.position = dict(begun)
    for batch in range(1_000):
        for at, split, begin in trims:
            if at == batch and (name := f"a-{split}") in written:
                source.trim(name, min(len(written[name]), max(begin, source.trimmed.begin_at.get(name, 0))))
        before = dict(one.position)
        if batch in restarts:
            one.again()
        taken = len(one.slices)
        one.read(1)
        if len(one.slices) == taken:
            break
        made = one.slices[-1]
        if made.complete:
            begins = source.trimmed.begin_at
            got = [
                t
                for name, log in source.records.items()
                for t in log[max(before[name], begins.get(name, 0)) : one.position[name]]
            ]
            all_ = [t for log in source.records.values() for t in log if made.start <= t < made.end]
            assert sorted(t for t in got if made.start <= t < made.end) == sorted(all_)


def test_records_deleted_after_the_look_ahead_are_missing() -> None:
    source, ahead = feed(budget=1_000, a_0=EVERY_5_S), list[Callable[[], None]]()
    one = session(
        source,
        run=RunInMemory(kept=TwoTexts()),
        time=TimeInMemory(),
        begin=lambda look: ahead.append(look) or (lambda: None),  # type: ignore[func-returns-value]
        slice="1 hour",
    )
    end = one.latest_offset(0, source.initial())
    ahead.pop()()
    source.trim("a-0", end["a-0"] + 100)
    one.latest_offset(0, end)
    assert one.slice is not None
    assert not one.slice.complete
    assert one.slice.missing_from == ("a-0",)
