"""The outcome of a scenario: the records in the topics, and each lane's reads and results. Plain
data, for the judge.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

AVAILABLE_NOW = "a run under availableNow"


class Split(NamedTuple):
    """A partition, by the scenario's name of its topic."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Record:
    """A record in a log. Event time in ms. `sent_at`, `visible_at`: wall clock in ms of the
    producer, and of the moment a reader could have it at the earliest, None where it never can.
    `surely_at`: at the latest, where a commit took its time. `live`: its producer kept to the
    clock. `timed`: it has an event time.
    """

    n: int
    key: int
    split: Split
    offset: int
    event_time: int
    sent_at: float
    visible_at: float | None
    live: bool = False
    surely_at: float | None = None
    timed: bool = True

    @property
    def shows_ms(self) -> float:
        """How far behind the clock it was, at least, when a reader could have it."""
        return (self.sent_at if self.visible_at is None else self.visible_at) - self.event_time

    @property
    def lag_ms(self) -> float:
        """How far behind the clock it was, at most."""
        return self.shows_ms if self.surely_at is None else self.surely_at - self.event_time


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that was committed. `ends`: first unread offset behind it. Wall clocks in ms:
    `planned_at`, when the logs were asked for it; `finished_at`, when its rows had come to
    foreachBatch. `watermark`: in ms, as the batch filtered by. `rows`: its output.
    """

    number: int
    planned_at: float
    finished_at: float
    watermark: int
    ends: Mapping[Split, int]
    rows: tuple[tuple[object, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """From a start to an end of a lane's query, wall clock in ms. `first`: the number of its first
    batch, committed or not.
    """

    began_at: float
    ended_at: float
    first: int
    aligned: bool
    available_now: bool


@dataclass(frozen=True, slots=True)
class Look:
    """A moment by which all that was visible at `visible_at` was to be read: at `read_by`, wall
    clock in ms. `what`: called for it.
    """

    what: str
    visible_at: float
    read_by: float


@dataclass(frozen=True, slots=True)
class BatchWindows:
    """The slice of a batch by `slice_of`, event times in ms, and the `n` of the batch's rows that
    it called the slice's own.
    """

    batch: int
    start: int
    end: int
    complete: bool
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """What lockgate said of one run. `late`: rows behind the watermark, by split; None where it
    did not count them. `least`, `most`: of the rows that were lost, by a report; `most` is None
    without one. `too_late`: `alignmentRowsTooLate`; `behind_ms`: the most of `alignmentBehindMs`.
    """

    late: Mapping[Split, int] | None = None
    least: int = 0
    most: int | None = None
    too_late: int = 0
    behind_ms: int = 0


@dataclass(frozen=True, slots=True)
class Lane:
    """A query over all its runs. `begins`: where its splits began. `figures`: of its aligned runs.
    `failure`: the error that ended it, where nobody had stopped it.
    """

    batches: Sequence[Batch]
    runs: Sequence[Run]
    begins: Mapping[Split, int] = field(default_factory=dict)
    looks: Sequence[Look] = ()
    slices: Sequence[BatchWindows] = ()
    figures: Sequence[Figures] = ()
    failure: str | None = None

    def aligned_at(self, number: int) -> bool:
        """Whether a batch was planned aligned."""
        return next((run.aligned for run in reversed(self.runs) if run.first <= number), False)


@dataclass(frozen=True, slots=True)
class Played:
    """`deleted`: up to where Kafka deleted records, by split, whoever had read them. `native`: None
    where none makes sense.
    """

    records: Sequence[Record]
    aligned: Lane
    native: Lane | None = None
    deleted: Mapping[Split, int] = field(default_factory=dict)
    live_since: float | None = None
    live_until: float | None = None
