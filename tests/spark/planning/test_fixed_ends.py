"""Runs under `availableNow` over committed records: what is open, aborted or compacted away behind
the end that a run has fixed. Two runs in virtual time, and what Spark drops of both.
"""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockgate_spark.event_times import KAFKAS, Origin, QueryWatermark
from support.marked_logs import Entry, JvmMarkedLog, Kind, MarkedSource
from support.runs import RunInMemory
from support.sessions import BEGAN_S, MINUTE, NOW_MS, TimeInMemory, session

DELAY = MINUTE
RECORD, MARKER, ABORTED, COMPACTED = Kind.RECORD, Kind.MARKER, Kind.ABORTED, Kind.COMPACTED


@dataclass
class Nightly:
    """Runs, half an hour apart, over a-0, which has a record a minute up to the first run, and
    a-1.
    """

    other: list[Entry]
    opened: int | None = None  # from which offset of a-1 on nothing is committed
    late: int = 0
    highest: int = 0
    positions: dict[str, int] = field(default_factory=lambda: {"a-0": 0, "a-1": 0})
    left: str = ""
    time: TimeInMemory = field(default_factory=TimeInMemory)

    def __post_init__(self) -> None:
        on_time = [Entry(RECORD, NOW_MS - n * MINUTE) for n in range(120, 0, -1)]
        self.jvm = JvmMarkedLog({}, entries={"a-0": on_time, "a-1": self.other}, window=50)
        self.run_state = RunInMemory(available_now=True)
        self.run_state.found = [QueryWatermark("timestamp", DELAY, (Origin(True, KAFKAS, KAFKAS, 0),))]

    def run(self) -> "Nightly":
        """One run, up to the batch that reads nothing."""
        self.jvm.stable = {} if self.opened is None else {"a-1": self.opened}
        source = MarkedSource(self.jvm)
        source.available_now(NOW_MS + int(self.time.now - BEGAN_S) * 1000)
        one = session(source, run=self.run_state, time=self.time, max_drift="1 minute")
        while (ends := one.latest_offset(0, self.positions)) != self.positions:
            read = [time for split in ends for _, time in self.jvm.sent(split, self.positions[split], ends[split])]
            self.late += sum(time <= self.highest - DELAY for time in read)
            self.highest, self.positions = max([self.highest, *read]), ends
        self.left = one.planner.left
        one.close()
        self.run_state.logged = {0: self.positions}
        self.time.now += 1800
        return self

    def commit(self, commits: bool = True) -> "Nightly":
        """The open transaction ends."""
        assert self.opened is not None
        if not commits:
            self.other[self.opened :] = [Entry(ABORTED, entry.stamp) for entry in self.other[self.opened :]]
        self.other.append(Entry(MARKER, NOW_MS))
        self.opened = None
        return self


def ago(*minutes: float, kind: Kind = RECORD) -> list[Entry]:
    return [Entry(kind, NOW_MS - int(m * MINUTE)) for m in minutes]


@pytest.mark.parametrize("commits", [True, False])
def test_a_transaction_that_is_open_when_a_run_begins_bounds_that_run(
    commits: bool, caplog: pytest.LogCaptureFixture
) -> None:
    nightly = Nightly(ago(100, 90, 80, 79, 78), opened=2).run()
    assert nightly.positions == {"a-0": 31, "a-1": 2}, "below a minute above the last record that is committed"
    assert "left for the next run" in nightly.left
    assert "a-1 has records beyond the end of this run: of a transaction that was open" in nightly.left
    assert nightly.left in caplog.text
    nightly.commit(commits).run()
    assert (nightly.positions["a-0"], nightly.late, nightly.left) == (120, 0, "")


def test_where_nothing_is_committed_yet_the_run_reads_nothing_and_says_so() -> None:
    nightly = Nightly(ago(100, 90), opened=0).run()
    assert nightly.positions == {"a-0": 0, "a-1": 0}
    assert nightly.left.startswith("This run has read nothing. Records above")
    assert nightly.commit().run().late == 0


@pytest.mark.parametrize(
    "tail",
    [ago(80, 79, kind=ABORTED) + ago(2, kind=MARKER), ago(80, 79, kind=COMPACTED), ago(2, kind=MARKER)],
    ids=["aborted", "compacted", "markers"],
)
def test_a_tail_without_records_below_a_fixed_end_bounds_no_run(tail: list[Entry]) -> None:
    nightly = Nightly(ago(100, 90) + tail).run()
    assert nightly.positions == {"a-0": 120, "a-1": 2 + len(tail)}
    assert (nightly.late, nightly.left) == (0, "")


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.sampled_from([RECORD, RECORD, MARKER, ABORTED, COMPACTED])), max_size=12),
    st.integers(0, 12),
    st.booleans(),
)
def test_two_runs_lose_no_row_with_open_or_aborted_transactions(
    entries: list[tuple[int, Kind]], opened: int, commits: bool
) -> None:
    age, other = 110, []
    for step, kind in entries:
        age = max(1, age - step)
        other += ago(age, kind=kind)
    nightly = Nightly(other, opened=min(opened, len(other)) if opened < 12 else None).run()
    if nightly.opened is not None:
        nightly.commit(commits)
    nightly.run()
    assert nightly.late == 0
    assert nightly.positions == {"a-0": 120, "a-1": len(other)}
