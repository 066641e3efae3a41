"""The findings of an observed run, as figures.

**Lost and late.** A row is *late* if it is at or below Spark's watermark when it is read. Late rows
are counted exactly. Not every late row is *lost*: a windowed aggregation drops a row once its whole
window is below the watermark, and a query without state drops none. So a loss has a lower and an
upper bound, which are equal if the figure is exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Basis(Enum):
    """How the number of lost rows was found."""

    OPERATORS = "operators"  # Spark's own count; its operators drop row by row
    WINDOWS = "windows"  # rows whose whole window was behind the watermark
    BETWEEN = "between"  # Spark's own count is the least, the late rows are the most
    STATELESS = "stateless"  # nothing in the query drops a late row
    UNCOUNTED = "uncounted"  # late rows were not counted


class RunState(Enum):
    """State of a run when its findings were made."""

    RUNNING = "running"
    ENDED = "ended"
    FAILED = "failed"
    CUT_OFF = "cut_off"  # the process ended while the query ran


@dataclass(frozen=True, slots=True)
class Loss:
    """Bounds on the number of rows that Spark has dropped. `most` is None if it is not known, and
    `basis` says how the bounds were found.
    """

    basis: Basis
    least: int = 0
    most: int | None = None

    @property
    def exact(self) -> bool:
        """Whether both bounds are the same."""
        return self.most == self.least


@dataclass(frozen=True, slots=True)
class BatchLoss:
    """Counts of the late rows of one batch of one source.

    Attributes:
        rows: All rows of the batch.
        late: By partition, the rows at or below `watermark`.
        lost: Of these, the rows whose whole window is below the watermark; all of them if the query
            has no windows.
        oldest: The lowest event time (ms) of a late row.
        watermark: Spark's watermark (ms) for this batch.
        exact: False if the windows were not known when the batch was read.
        early: Rows before 1970, which are not late.
        untimed: Rows without an event time.
        counted_once: False if tasks that ran again may have counted rows twice, so that the counts
            are upper bounds.

    """

    rows: int
    late: Mapping[str, int]
    lost: Mapping[str, int]
    oldest: int | None
    watermark: int
    exact: bool = True
    early: int = 0
    untimed: int = 0
    counted_once: bool = True


@dataclass(frozen=True, slots=True)
class StateOperator:
    """A stateful operator of a batch, as in Spark's progress.

    `dropped` counts the rows below the watermark, after a partial aggregation if there is one.
    `repeated` is true if a partition was computed more than once, for example by several actions in
    foreachBatch, so that its rows are in `dropped` each time.
    """

    name: str
    dropped: int
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class QueryShape:
    """The parts of the query's plan that decide which rows are lost.

    Attributes:
        delay_ms: The shortest delay of its watermarks; None if it has none.
        seen: Whether the watermarks are on the event time that alignment uses.
        whole: Whether each row of the source reaches the one operator of the query that drops rows.

    """

    delay_ms: int | None = None
    seen: bool = True
    whole: bool = False


@dataclass(frozen=True, slots=True)
class PartitionFindings:
    """Findings about one partition in a run.

    Attributes:
        offsets: Number of offsets that were read.
        ahead_ms: The furthest that its first unread record was ahead of the lowest first unread
            record of all partitions.
        first: Event time (ms) of its first record; None if no plan has seen it.
        last: Estimated event time (ms) of its last record, from the density of earlier ones.

    """

    source: int
    partition: str
    offsets: int
    late: int
    lost: int
    ahead_ms: int
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class SourceFindings:
    """Findings about one source. `budget` is its maxOffsetsPerTrigger, `offsets` is the number of
    offsets read, and `largest` is the number in its largest batch.
    """

    source: int
    budget: int | None
    offsets: int
    largest: int


@dataclass(frozen=True, slots=True)
class Moment:
    """The figures of one or more consecutive batches.

    Attributes:
        at: Time (s since 1970) when the first batch was planned.
        apart_ms: The largest distance between the first unread records of two partitions; None if
            no plan was made.
        watermark: Spark's last watermark (ms); 0 if it had none.

    """

    at: float
    batches: int = 1
    late: int = 0
    lost: int = 0
    apart_ms: int | None = None
    watermark: int = 0

    def with_next(self, other: "Moment") -> "Moment":
        """Return one moment for the batches of this one and of `other`, which follows it."""
        apart = [each.apart_ms for each in (self, other) if each.apart_ms is not None]
        return Moment(
            self.at,
            self.batches + other.batches,
            self.late + other.late,
            self.lost + other.lost,
            max(apart, default=None),
            max(self.watermark, other.watermark),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All findings about one run.

    Attributes:
        began, until: Times (s since 1970) between which the figures were counted.
        rows: Rows read if late rows were counted, else offsets.
        late: None if not counted; `uncounted` then says why.
        late_rows_path: Where the late rows are kept; None if they are not.
        late_exact: False if `late` is an upper bound.
        early: Rows before 1970, which are not late.
        untimed: Rows without an event time.
        repeated: Whether a stateful operator was `repeated` in any batch, as in `StateOperator`.
        lateness_ms: How far below the watermark the oldest late row was.
        out_of_orderness_ms: The largest amount by which a sampled record was older than an earlier
            one of its partition.
        too_late: Records whose producer was later than the plans had allowed for.
        left_out: Records whose event time is outside the bounds.
        ahead: Batches that went beyond their plan, by `offsets_ahead` offsets in all.
        max_drift_ms: The drift that the plans allowed; 0 before the first one.
        busy_s: How long the batches took, without the waits between them.
        failed_plans: Whether a plan could not be made.

    """

    query: str | None
    query_id: str
    run_id: str
    state: RunState
    began: float
    until: float
    rows: int
    batches: int
    loss: Loss
    late: int | None
    uncounted: str = ""
    late_rows_path: str | None = None
    late_exact: bool = True
    early: int = 0
    untimed: int = 0
    repeated: bool = False
    lateness_ms: int = 0
    operators: Mapping[str, int] = field(default_factory=dict)
    shape: QueryShape = QueryShape()
    max_drift_ms: int = 0
    out_of_orderness_ms: int = 0
    too_late: int = 0
    left_out: int = 0
    ahead: int = 0
    offsets_ahead: int = 0
    busy_s: float = 0.0
    failed_plans: bool = False
    in_group: bool = False
    partitions: tuple[PartitionFindings, ...] = ()
    sources: tuple[SourceFindings, ...] = ()
    moments: tuple[Moment, ...] = ()

    @property
    def apart_ms(self) -> int | None:
        """The largest distance (ms) between two partitions; None if no plan was made."""
        return max((each.apart_ms for each in self.moments if each.apart_ms is not None), default=None)
