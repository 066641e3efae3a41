"""The findings of an observed run, as figures, and the options that they advise.

Lost rows, those that Spark has dropped as late, are counted exactly if they can be followed through
the query's plan. If not, the loss has bounds: Spark's own count, and the number of rows at or below
Spark's watermark when they are read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from lockgate.duration import spoken
from lockgate_http.duration import as_option

_ROW_BY_ROW = ("dedupe", "dedupeWithinWatermark", "symmetricHashJoin", "transformWithStateExec", "globalLimit")
"""Operators that drop row by row. All others may count after a partial aggregation."""

_BATCH_S = 60.0  # a batch of about a minute


class Basis(Enum):
    ROWS = "rows"  # rows that were followed to the operators that have dropped them
    OPERATORS = "operators"  # Spark's own count; its operators drop row by row
    BETWEEN = "between"  # Spark's own count is the least, the late rows are the most
    STATELESS = "stateless"  # nothing in the query drops a late row
    UNCOUNTED = "uncounted"  # late rows were not counted


class RunState(Enum):
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


@dataclass(slots=True)
class PartitionFindings:
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
        self.apart_ms = max((ms for ms in (self.apart_ms, batch.apart_ms) if ms is not None), default=None)
        self.watermark = max(self.watermark, batch.watermark)
        self.batches += batch.batches
        self.lost += batch.lost


@dataclass(slots=True, kw_only=True)
class Findings:
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


@dataclass(frozen=True, slots=True)
class Kept:
    """Bounds on how many of the lost rows alignment would have kept, as far as they are known."""

    least: int | None
    most: int | None
    why: str = ""  # it might not have kept them all


@dataclass(frozen=True, slots=True)
class Advice:
    option: str
    value: str | None  # None: no value is advised
    why: str


def kept(found: Findings) -> Kept:
    """Return how many lost rows a `max_drift` up to the watermark's delay would have kept."""
    loss, delay = found.loss, found.delay_ms
    if loss.most == 0:
        return Kept(0, 0)
    if not found.seen:
        return Kept(None, None, "the watermark uses another event time than the aligned one")
    if found.left_out:
        stamped = f"at least {found.left_out:,} records have a time stamp outside the bounds"
        return Kept(None, loss.most, f"{stamped}, which moves Spark's watermark")
    if delay is not None and found.out_of_orderness_ms > delay:
        apart = f"records within one partition are out of order by {spoken(found.out_of_orderness_ms)}"
        return Kept(None, loss.most, f"{apart}, which is more than the watermark's delay of {spoken(delay)}")
    if found.too_late:
        least = max(0, loss.least - found.too_late)
        return Kept(least, loss.most, f"{found.too_late:,} records came later than their producer was waited for")
    return Kept(loss.least, loss.most)


def advice(found: Findings) -> tuple[Advice, ...]:
    """Return the advised options, the most important one first. If rows were lost, the last one may
    be `withWatermark`, with the delay that would be needed without alignment.
    """
    given = [_max_drift(found), *(_budget(found, source) for source in range(len(found.sources)))]
    delay = found.delay_ms
    if found.loss.most != 0 and found.lateness_ms and delay is not None:
        given.append(
            Advice(
                "withWatermark",
                as_option(-(-(delay + found.lateness_ms + 1) // 60_000) * 60_000),  # rounded up to minutes
                "without alignment the delay would have to be this long for the same batches. Results would come "
                "that much later, and Spark would keep the state for as long",
            )
        )
    return tuple(given)


def _max_drift(found: Findings) -> Advice:
    delay = found.delay_ms
    if delay is None:
        return Advice("max_drift", None, "the query has no withWatermark, so Spark drops no row for being late")
    if found.out_of_orderness_ms >= delay:
        return Advice(
            "max_drift",
            None,
            f"first make the delay longer than {spoken(found.out_of_orderness_ms)}, by which records within one "
            "partition are out of order",
        )
    why = f"no row is late while max_drift is at most the watermark's delay, {spoken(delay)}"
    if 0 < found.max_drift_ms <= delay:
        return Advice("max_drift", as_option(found.max_drift_ms), f"{why}; this run has planned with this value")
    planned = f"; this run has planned with {spoken(found.max_drift_ms)}" if found.max_drift_ms else ""
    return Advice("max_drift", as_option(delay), f"{why}{planned}")


def _budget(found: Findings, index: int) -> Advice:
    source = found.sources[index]
    option = "maxOffsetsPerTrigger" if len(found.sources) == 1 else f"maxOffsetsPerTrigger of source {source.source}"
    if source.max_offsets_per_trigger is not None:
        return Advice(
            option,
            str(source.max_offsets_per_trigger),
            "as it is: alignment reads the same number of offsets in a batch, in the order of their event time",
        )
    return Advice(
        option,
        str(_rounded(source.offsets * _BATCH_S / max(1.0, found.busy_s))),
        f"none is set, and the largest batch had {source.largest_batch:,} offsets. With this number a backlog is read "
        "in batches of about a minute, at the speed of this run; then a failure repeats a minute of work",
    )


def _rounded(number: float) -> int:
    """Return the number with one significant digit, but at least 1,000."""
    return max(1_000, int(float(f"{number:.0e}")))
