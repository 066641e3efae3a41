"""What is known of an observed run: plain figures, and no words.

**Lost and late.** A row at or below Spark's watermark when it is read is *late*. That is counted
exactly. Not each late row is *lost*: a windowed aggregation drops a row once its whole window is
behind, and a query without state drops none. So a loss has two ends, which are equal where the
figure is exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Basis(Enum):
    """What a figure of lost rows stands on."""

    OPERATORS = "operators"  # Spark's own count; its operators drop row by row
    WINDOWS = "windows"  # rows whose whole window was behind the watermark
    BETWEEN = "between"  # Spark's own count is the least, the late rows are the most
    STATELESS = "stateless"  # nothing in the query drops a late row
    UNCOUNTED = "uncounted"  # late rows were not counted


class RunState(Enum):
    """How far a run was when its findings were made."""

    RUNNING = "running"
    ENDED = "ended"
    FAILED = "failed"
    CUT_OFF = "cut_off"  # the process ended while the query ran


@dataclass(frozen=True, slots=True)
class Loss:
    """Rows that Spark has dropped: between `least` and `most`; `most` is None where not known."""

    basis: Basis
    least: int = 0
    most: int | None = None

    @property
    def exact(self) -> bool:
        """Whether both ends are the same."""
        return self.most == self.least


@dataclass(frozen=True, slots=True)
class BatchLoss:
    """The late rows of one batch of one source. `rows`: all that it held. `late`: by split, the
    rows at or below `watermark` (ms); `lost`: those of them whose whole window is behind, where the
    query has windows, else the same. `oldest`: the lowest event time (ms) of a late row. `exact`:
    False where the windows were not known when the batch was read. `early`: rows before 1970, which
    are not late; `untimed`: rows without an event time. `counted_once`: False where tasks that ran
    again may have counted rows twice, so that the counts are upper bounds.
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
    """A stateful operator of a batch, as Spark's progress shows it. `dropped`: rows below the
    watermark, counted after a partial aggregation where there is one. `repeated`: a partition was
    computed more than once, by several actions in foreachBatch for example, and its rows are in
    `dropped` each time.
    """

    name: str
    dropped: int
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class QueryShape:
    """What the query's plan says of losses. `delay_ms`: the shortest delay of its watermarks; None
    without one. `seen`: whether they stand on the event time that alignment sees. `whole`: whether
    each row of the source reaches the one operator of the query that drops rows.
    """

    delay_ms: int | None = None
    seen: bool = True
    whole: bool = False


@dataclass(frozen=True, slots=True)
class SplitFindings:
    """One split. `offsets`: how many were read. `ahead_ms`: the most that its first unread record
    was above the lowest one of all splits. `first`, `last`: event times (ms) of its first record,
    and of its last one by the density of those before; None where no plan has seen it.
    """

    source: int
    split: str
    offsets: int
    late: int
    lost: int
    ahead_ms: int
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class SourceFindings:
    """One source. `budget`: its maxOffsetsPerTrigger. `largest`: the offsets of its largest
    batch.
    """

    source: int
    budget: int | None
    offsets: int
    largest: int


@dataclass(frozen=True, slots=True)
class Moment:
    """Some batches that followed each other. `at`: wall clock in seconds of the first one's plan.
    `apart_ms`: the largest distance between the first unread records of two splits; None where no
    plan was made. `watermark`: Spark's (ms), the last one; 0 for none.
    """

    at: float
    batches: int = 1
    late: int = 0
    lost: int = 0
    apart_ms: int | None = None
    watermark: int = 0

    def with_next(self, other: "Moment") -> "Moment":
        """Both moments as one."""
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
    """All of one run. `began`, `until`: wall clock in seconds. `rows`: read, exactly where late
    rows were counted, else offsets. `late`: None where not counted, and `uncounted` says why;
    `late_exact`: False where it is an upper bound. `early`: rows before 1970, which are not late;
    `untimed`: rows without an event time. `repeated`: as of `StateOperator`, in any batch.
    `lateness_ms`: how far below the watermark the oldest late row was. `disorder_ms`: how far a
    record was seen to be below an earlier one of its split. `too_late`: records that came later
    than their producer was waited for. `left_out`: records with an incredible event time. `ahead`:
    batches that went beyond their plan; `offsets_ahead`: by how many offsets. `max_drift_ms`: what
    the plans kept to, 0 before the first one. `busy_s`: how long the batches took, without the
    waits between them. `failed_plans`: whether a plan could not be made.
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
    late_exact: bool = True
    early: int = 0
    untimed: int = 0
    repeated: bool = False
    lateness_ms: int = 0
    operators: Mapping[str, int] = field(default_factory=dict)
    shape: QueryShape = QueryShape()
    max_drift_ms: int = 0
    disorder_ms: int = 0
    too_late: int = 0
    left_out: int = 0
    ahead: int = 0
    offsets_ahead: int = 0
    busy_s: float = 0.0
    failed_plans: bool = False
    in_group: bool = False
    splits: tuple[SplitFindings, ...] = ()
    sources: tuple[SourceFindings, ...] = ()
    moments: tuple[Moment, ...] = ()

    @property
    def apart_ms(self) -> int | None:
        """The largest distance between two splits; None where no plan was made."""
        return max((each.apart_ms for each in self.moments if each.apart_ms is not None), default=None)
