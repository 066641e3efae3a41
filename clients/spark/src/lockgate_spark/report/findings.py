"""The findings of an observed run, as figures.

**Exact or not.** A lost row is one that Spark has dropped as late. Lost rows are counted exactly if
they can be followed through the query's plan. If not, the loss has a lower bound, which is Spark's
own count, and an upper bound: the number of rows at or below Spark's watermark when they are read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

_ROW_BY_ROW = ("dedupe", "dedupeWithinWatermark", "symmetricHashJoin", "transformWithStateExec", "globalLimit")
"""Operators that drop row by row. All others may count after a partial aggregation."""


class Basis(Enum):
    """How the number of lost rows was found."""

    ROWS = "rows"  # rows that were followed to the operators that have dropped them
    OPERATORS = "operators"  # Spark's own count; its operators drop row by row
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
    """Bounds on the number of rows that Spark has dropped. `most` is None if there is no known
    upper bound.
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
    """The late rows of one batch of one source: their number by partition (`lost`), their lowest
    event time (`oldest`, in ms; None if it is not known), and Spark's watermark (ms) for the batch.
    The numbers are upper bounds if `exact` is false.
    """

    lost: Mapping[str, int]
    oldest: int | None
    watermark: int
    exact: bool = True


@dataclass(frozen=True, slots=True)
class StateOperator:
    """A stateful operator of a batch, as in Spark's progress.

    `dropped` counts the rows below the watermark, after a partial aggregation if there is one. If
    a partition was computed more than once, for example by several actions in foreachBatch,
    `repeated` is true and `dropped` counts its rows each time.
    """

    name: str
    dropped: int
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class PartitionFindings:
    """Findings about one partition.

    Attributes:
        offsets: Number of offsets that were read.
        ahead_ms: Largest distance (ms) in event time by which the partition's first unread record
            was ahead of the oldest first unread record of all partitions.
        first: Event time (ms) of the first record; None if no plan has seen it.
        last: Event time (ms) of the last record, estimated from the density of earlier records;
            None if no plan has seen a record.

    """

    source: int
    partition: str
    offsets: int
    lost: int
    ahead_ms: int
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class SourceFindings:
    """Findings about one source. `budget` is its maxOffsetsPerTrigger (None if it is not set).
    `offsets` is the number of offsets read, and `largest` is the number in its largest batch.
    """

    source: int
    max_offsets_per_trigger: int | None
    offsets: int
    largest_batch: int


@dataclass(frozen=True, slots=True)
class Moment:
    """The figures of one or more consecutive batches.

    Attributes:
        at: Time (s since 1970) when the first batch was planned.
        apart_ms: The largest distance in event time (ms) between the first unread records of two
            partitions; None if no plan was made.
        watermark: Spark's last watermark (ms); 0 if there was none.

    """

    at: float
    batches: int = 1
    lost: int = 0
    apart_ms: int | None = None
    watermark: int = 0

    def with_next(self, other: "Moment") -> "Moment":
        """Return this moment merged with `other`, the next one."""
        apart = max((each.apart_ms for each in (self, other) if each.apart_ms is not None), default=None)
        watermark = max(self.watermark, other.watermark)
        return Moment(self.at, self.batches + other.batches, self.lost + other.lost, apart, watermark)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All findings about one run.

    Attributes:
        began, until: Times (s since 1970) between which the figures were counted.
        rows: Number of offsets that were read.
        uncounted: Why lost rows were not counted; empty if they were.
        late_rows_path: Path of the table with the late rows; None if they are not kept.
        repeated: Whether a stateful operator was `repeated` in any batch, as in `StateOperator`.
        delay_ms: The shortest delay (ms) of the query's watermarks; None if it has none.
        seen: Whether the watermarks are on the event time that alignment uses.
        lateness_ms: How far (ms) below the watermark the oldest lost row was; 0 if that is not
            known.
        operators: Number of rows dropped by each stateful operator, by Spark's own count.
        out_of_orderness_ms: The largest time (ms) by which a sampled record was older than an
            earlier one of its partition.
        too_late: Number of records that arrived too late because their producer's lag was above
            what the plans had allowed for.
        left_out: Number of records without an event time, or with one beyond `future_bound` or
            `past_bound`.
        ahead: Number of batches that read beyond their plan.
        offsets_ahead: Number of offsets that these batches read beyond their plans.
        max_drift_ms: The drift (ms) that the plans allowed; 0 before the first plan.
        busy_s: How long the batches took (s), without the waits between them.
        failed_plans: Whether a plan could not be made.
        in_group: Whether `Alignment(coordinator=…)` is set. It may be set in observe mode too, in
            which the query joins no group.

    """

    query: str | None
    query_id: str
    run_id: str
    state: RunState = RunState.RUNNING
    began: float
    until: float = 0.0
    rows: int = 0
    batches: int = 0
    loss: Loss = Loss(Basis.STATELESS)
    uncounted: str = ""
    late_rows_path: str | None = None
    repeated: bool = False
    lateness_ms: int = 0
    operators: Mapping[str, int] = field(default_factory=dict)
    delay_ms: int | None = None
    seen: bool = True
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
        """The largest `Moment.apart_ms` of all moments; None if no plan was made."""
        return max((each.apart_ms for each in self.moments if each.apart_ms is not None), default=None)


def loss_of(lost: int | None, exact: bool, operators: Mapping[str, int], repeated: bool, ran: bool, seen: bool) -> Loss:
    """Return the bounds on the number of rows lost.

    An operator's count may exceed the number of late rows: it counts a row each time that a batch
    is computed, and counts every copy of a row that the query has multiplied.

    Args:
        lost: Number of rows dropped as late; None if they were not counted.
        exact: False if `lost` is an upper bound.
        operators: Number of rows that each stateful operator has dropped, by its own count.
        repeated: As in `StateOperator`.
        ran: Whether a batch has run.
        seen: Whether the query's watermarks are on the event time that alignment uses.
    """
    told = sum(operators.values())
    if not operators and (ran or lost == 0):
        return Loss(Basis.STATELESS, 0, 0)
    if lost is not None and exact:
        return Loss(Basis.ROWS, lost, lost)
    row_by_row = all(name in _ROW_BY_ROW for name in operators)
    most = lost if seen else None
    if row_by_row and not repeated and (most is None or told <= most):
        return Loss(Basis.OPERATORS, told, told)
    if row_by_row:
        most = told if most is None else min(told, most)
    too_much = repeated or row_by_row or (most is not None and told > most)
    return Loss(Basis.UNCOUNTED if lost is None else Basis.BETWEEN, 0 if too_much else told, most)
