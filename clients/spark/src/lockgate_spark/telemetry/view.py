"""The view of a plan, as shown to foreachBatch functions and in Spark's progress and gauges."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lockgate.duration import spoken
from lockgate.plan.clock import AHEAD_MS
from lockgate.plan.model import Limit, Plan, PlannedState, SplitPlan
from lockgate.wire.events import Blocker, SourcePause, WatermarkAlignmentEvent
from lockgate_http.group.outage import Coordination
from lockgate_spark.logs.names import names
from lockgate_spark.logs.unread import Key
from lockgate_spark.telemetry.batch_slice import BatchSlice
from lockgate_spark.telemetry.waits import operator, reader


@dataclass(frozen=True, slots=True)
class PartitionAlignment:
    """The plan for one partition.

    The batch reads the partition's offsets from `position` to `end` (exclusive). Event times and
    durations are in ms.

    Attributes:
        source: Number of the source in the query's checkpoint.
        partition: Name of the partition, such as "orders-3".
        state: State of the partition once the batch is read.
        watermark: The partition's watermark before the batch.
        next_event_time: Event time of the first record that stays unread; None if it is not known.
        left_out: Number of records without an event time, or with one beyond `future_bound` or
            `past_bound`, that this plan found. Records that the plan did not inspect are not
            counted.
        left_out_so_far: The same number for all batches of the run so far.
        lag: Largest lag of the partition's producer behind the clock that this run has observed;
            None before the first one.
        paused_since: Time (s since 1970) when the partition was paused; None if it is not paused.
        read_early: Number of offsets above the read limit that are read because Kafka is about to
            delete them.
        out_of_orderness: Largest amount by which a sampled record was older than an earlier record
            of the partition.
        stopped_ms: How long the partition has been stopped at a record stamped ahead of the clock.
        far_behind: Whether the partition's records are so far behind the clock that no other
            partition waits for it.

    """

    source: int
    partition: str
    position: int
    end: int
    state: PlannedState
    watermark: int
    next_event_time: int | None
    left_out: int
    lag: int | None = None
    paused_since: float | None = None
    read_early: int = 0
    out_of_orderness: int = 0
    stopped_ms: int = 0
    left_out_so_far: int = 0
    far_behind: bool = False


@dataclass(frozen=True, slots=True)
class BatchAlignment:
    """The plan that produced a batch. Event times are in ms since 1970.

    Examples:
        In a foreachBatch function:

        >>> plan = lockgate_spark.alignment_of(batch)
        >>> if plan is not None and plan.paused:
        ...     print(plan.limited_by.value, plan.blocker, plan.paused)

    Attributes:
        target: Event time up to which the plan reads.
        read_limit: Event time that the plan must not exceed.
        limited_by: The reason why the plan reads no further: the budget, the group, a partition of
            the query that may still receive older records, a window, or the end of the data.
        partitions: All partitions of all aligned sources.
        paused: Partitions whose next record is above the read limit. If several sources have a
            partition with the same name, the name is followed by the number of the source, here and
            below.
        resumed: Partitions that were paused and are read again.
        group_watermark: The group's watermark in the coordinator's last event; None without a
            coordinator.
        blocked_by: The readers that the group waits for; empty without a coordinator.
        planned_at: Time (s since 1970) when the plan was made.
        seconds: How long it took to make the plan, without waits.
        applied: False in observe mode, where the plan only shows what alignment would have read.
        look_ups: Number of requests to Kafka for this plan, over all sources.
        read_early: Paused partitions that are read above the read limit because Kafka is about to
            delete their records.
        slice: The windows of the batch; None without `Alignment(slice=…)`.
        bounded_by: The partition that limits the plan, because it may still receive the oldest
            records or is stopped at a record ahead of the clock. None if no partition does.
        coordinator: Where the read limit comes from: the group (`connected`), the group's last
            event before an outage (`holding`), or the query alone (`proceeding`). None without a
            coordinator.
        rows_saved: Estimated number of rows that would have been late so far in plain Spark, which
            divides `maxOffsetsPerTrigger` by backlog. None in observe mode, without a watermark, or
            if a watermark does not use the aligned event times.
        out_of_orderness: How far out of order (ms) the plan expects records of one partition to be.
        behind: If a partition keeps the query behind the clock, a sentence that says by how much,
            which partition, and why. Empty otherwise.
        rows_too_late: Number of records in this run, counted by offsets, that were below Spark's
            watermark: because their producer was later than observed before, or because a record
            stamped ahead of the clock had stopped their partition.
        operator_pause: When and by whom the query was paused, if a person has paused it. None
            otherwise.

    """

    target: int
    read_limit: int
    limited_by: Limit
    partitions: tuple[PartitionAlignment, ...]
    paused: tuple[str, ...]
    resumed: tuple[str, ...]
    group_watermark: int | None
    blocked_by: tuple[Blocker, ...]
    planned_at: float
    seconds: float
    applied: bool = True
    look_ups: int = 0
    read_early: tuple[str, ...] = ()
    slice: BatchSlice | None = None
    bounded_by: str | None = None
    coordinator: Coordination | None = None
    rows_saved: int | None = None
    out_of_orderness: int = 0
    behind: str = ""
    rows_too_late: int = 0
    operator_pause: SourcePause | None = None

    @property
    def blocker(self) -> str:
        """The name of the partition, of the group's readers or of the operator (a person) that
        keeps the query from reading further. Empty if there is none.
        """
        if self.limited_by is Limit.GROUP and self.operator_pause is not None:
            return operator(self.operator_pause)
        if self.limited_by is Limit.GROUP:
            return ", ".join(map(reader, self.blocked_by))
        return self.bounded_by or ""

    @property
    def spread(self) -> int:
        """How far apart (ms) the event times of the partitions' first unread records were before
        the batch. A gap in a partition's event times is part of this distance.
        """
        watermarks = [
            each.watermark for each in self.partitions if each.state in (PlannedState.ACTIVE, PlannedState.PAUSED)
        ]
        return max(watermarks) - min(watermarks) if watermarks else 0

    @property
    def behind_ms(self) -> int:
        """How far (ms) the oldest unread record of the paused partitions was behind the clock when
        the plan was made; 0 if no partition is paused. For a partition that is stopped at a record
        ahead of the clock, the time since it stopped counts instead.
        """
        now = int(self.planned_at * 1000)
        paused = [each for each in self.partitions if each.paused_since is not None]
        return max((max(each.stopped_ms, now - (each.next_event_time or now)) for each in paused), default=0)

    @property
    def paused_ms(self) -> int:
        """How long (ms) the longest pause had lasted when the plan was made; 0 without a pause."""
        since = min(
            (each.paused_since for each in self.partitions if each.paused_since is not None), default=self.planned_at
        )
        return round((self.planned_at - since) * 1000)


_NONE: Mapping[Key, int] = {}


def is_unread(partition: PartitionAlignment) -> bool:
    """Return whether the partition had unread records before the batch."""
    return partition.end > partition.position or partition.next_event_time is not None


def describe(
    plan: Plan[Key],
    *,
    planned_at: float,
    before: BatchAlignment | None,
    group: WatermarkAlignmentEvent | None,
    slowest: Key | None,
    why: str,
    lags: Mapping[Key, int],
    stopped: Mapping[Key, int],
    far_behind: Collection[Key],
    left_out: Mapping[Key, int] = _NONE,
    left_out_so_far: Mapping[Key, int] = _NONE,
    read_early: Mapping[Key, int] = _NONE,
    disorder: Mapping[Key, int] = _NONE,
    **fields: Any,
) -> BatchAlignment:
    """Return the view of `plan`, which was made at `planned_at` (s since 1970).

    `before` is the view of the previous plan, and `group` the coordinator's last event. `slowest`
    is the partition that limits the plan, or is stopped at a record ahead of the clock; None if no
    partition does. `why` says why it may still bring old records, as the end of a sentence. `lags`
    has the lags (ms) of the producers, and `stopped` how long (ms) partitions have been stopped at
    records ahead of the clock. All maps leave out partitions without a value. The other arguments
    are as in `PartitionAlignment` and `BatchAlignment`.
    """
    known = {} if before is None else {(p.source, p.partition): p for p in before.partitions}
    since = {key: p.paused_since for key, p in known.items() if p.paused_since is not None}
    so_far = {key: p.left_out_so_far for key, p in known.items() if p.left_out_so_far} | dict(left_out_so_far)
    paused, made = plan.paused, plan.splits
    called = names(made, made)
    early = {key: called[key] for key in read_early}
    resumed = (key for key in since if key in made and made[key].end > made[key].position)
    view = BatchAlignment(
        target=plan.target,
        read_limit=plan.ceiling,
        limited_by=plan.limit,
        partitions=tuple(
            PartitionAlignment(
                source=key[0],
                partition=key[1],
                position=s.position,
                end=s.end,
                state=s.state,
                watermark=s.watermark,
                next_event_time=s.next.event_time if s.next else None,
                left_out=left_out.get(key, 0),
                lag=lags.get(key),
                paused_since=since.get(key, planned_at) if key in paused else None,
                stopped_ms=_stopped_ms(s, stopped.get(key, 0), planned_at, before) if key in paused else 0,
                left_out_so_far=so_far.get(key, 0),
                read_early=read_early.get(key, 0),
                out_of_orderness=disorder.get(key, 0),
                far_behind=key in far_behind,
            )
            for key, s in made.items()
        ),
        paused=tuple(sorted(called[key] for key in paused)),
        resumed=tuple(sorted(called[key] for key in resumed if key not in early)),
        read_early=tuple(sorted(early.values())),
        group_watermark=None if group is None else group.group_watermark,
        blocked_by=() if group is None else group.blocked_by,
        bounded_by=None if slowest is None else called[slowest],
        planned_at=planned_at,
        look_ups=plan.look_ups,
        **fields,
    )
    if not view.behind_ms or view.bounded_by is None:
        return view
    return replace(view, behind=f"{spoken(view.behind_ms)} behind the clock: {view.bounded_by} {why}")


def _stopped_ms(made: SplitPlan, known: int, planned_at: float, before: BatchAlignment | None) -> int:
    """Return how long (ms) a paused partition has been stopped at a record stamped ahead of the
    clock: `known` if it was stopped before this plan. If it stops with this plan, return the time
    since the previous plan, because the record may have arrived right after the previous plan.
    """
    now = int(planned_at * 1000)
    if known or before is None or made.next is None or made.next.event_time <= now + AHEAD_MS:
        return known
    return max(0, now - int(before.planned_at * 1000))
