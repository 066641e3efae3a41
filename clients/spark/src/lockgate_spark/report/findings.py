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
    """Bounds on the number of rows that Spark has dropped."""

    basis: Basis
    least: int = 0
    most: int | None = None  # None: there is no known upper bound

    @property
    def exact(self) -> bool:
        return self.most == self.least


@dataclass(slots=True)
class BatchLoss:
    """The late rows of one batch of one source."""

    lost: dict[str, int]  # by partition
    oldest: int | None  # their lowest event time (ms), if it is known
    watermark: int  # Spark's, for the batch (ms)
    exact: bool = True  # False: the numbers are upper bounds


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


@dataclass(slots=True)
class PartitionFindings:
    """Findings about one partition."""

    source: int
    partition: str
    offsets: int = 0  # that were read
    lost: int = 0
    ahead_ms: int = 0  # most that its first unread record was ahead of the oldest first unread record of all
    first: int | None = None  # event time (ms) of its first record, if a plan has seen one
    newest: int | None = None  # event time (ms) below the first record of its last batch
    before: int = 0  # offsets that were read before that record

    @property
    def last(self) -> int | None:
        """The event time (ms) of the last record, estimated from the density of the records before
        the last batch. It is the first record's event time until two batches have shown a density,
        and None if no plan has seen a record.
        """
        if self.first is None or self.newest is None or self.newest < self.first or not self.before:
            return self.first
        return self.first + (self.newest - self.first) * self.offsets // self.before


@dataclass(slots=True)
class SourceFindings:
    """Findings about one source."""

    source: int
    max_offsets_per_trigger: int | None
    offsets: int = 0  # that were read
    largest_batch: int = 0  # in offsets


@dataclass(slots=True)
class Moment:
    """The figures of one or more consecutive batches."""

    at: float  # time (s since 1970) when the first of them was planned
    batches: int = 1
    lost: int = 0
    apart_ms: int | None = None  # most between the first unread records of two partitions; None without a plan
    watermark: int = 0  # Spark's last one (ms)

    def add(self, batch: "Moment") -> None:
        """Add the figures of a later batch."""
        self.apart_ms = max((ms for ms in (self.apart_ms, batch.apart_ms) if ms is not None), default=None)
        self.watermark = max(self.watermark, batch.watermark)
        self.batches += batch.batches
        self.lost += batch.lost


@dataclass(slots=True, kw_only=True)
class Findings:
    """All findings about one run."""

    query: str | None
    query_id: str
    run_id: str
    state: RunState = RunState.RUNNING
    began: float  # the figures are of the time (s since 1970) from here
    until: float = 0.0  # to here
    rows: int = 0  # offsets that were read
    batches: int = 0
    loss: Loss = Loss(Basis.STATELESS)
    uncounted: str = ""  # why lost rows were not counted
    late_rows_path: str | None = None  # of the table with the late rows, if they are kept
    repeated: bool = False  # an operator was `repeated` in some batch, as in `StateOperator`
    lateness_ms: int = 0  # how far below the watermark the oldest lost row was; 0 if that is not known
    operators: Mapping[str, int] = field(default_factory=dict)  # rows dropped by each, by Spark's own count
    delay_ms: int | None = None  # the shortest delay of the query's watermarks, if it has one
    seen: bool = True  # the watermarks are on the event time that alignment uses
    max_drift_ms: int = 0  # that the plans allowed; 0 before the first plan
    out_of_orderness_ms: int = 0  # most that a sampled record was older than an earlier one of its partition
    too_late: int = 0  # records with a lag of their producer above what the plans had allowed for
    left_out: int = 0  # records without an event time, or beyond `future_bound` or `past_bound`
    ahead: int = 0  # batches that read beyond their plan
    offsets_ahead: int = 0  # that these batches read beyond their plans
    busy_s: float = 0.0  # how long the batches took, without the waits between them
    failed_plans: bool = False
    in_group: bool = False  # the options have a coordinator, although observe mode joins no group
    partitions: tuple[PartitionFindings, ...] = ()
    sources: tuple[SourceFindings, ...] = ()
    moments: tuple[Moment, ...] = ()

    @property
    def apart_ms(self) -> int | None:
        """The largest `Moment.apart_ms`; None if no plan was made."""
        return max((each.apart_ms for each in self.moments if each.apart_ms is not None), default=None)


def loss_of(lost: int | None, exact: bool, operators: Mapping[str, int], repeated: bool, ran: bool, seen: bool) -> Loss:
    """Return the bounds on the number of rows lost. `lost` is the number of rows dropped as late,
    an upper bound if `exact` is false, and None if they were not counted. `ran` says whether a
    batch has run. `operators`, `repeated` and `seen` are as in `Findings`.

    An operator's count may exceed the number of late rows: it counts a row each time that a batch
    is computed, and counts every copy of a row that the query has multiplied.
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
