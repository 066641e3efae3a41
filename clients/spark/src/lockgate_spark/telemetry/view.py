"""The view of a plan, as shown to foreachBatch functions and in Spark's progress and gauges."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockgate.plan.model import Limit, PlannedState
from lockgate.wire.events import Blocker, SourcePause
from lockgate_http.group.outage import Coordination
from lockgate_spark.telemetry.waits import operator, reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class BatchSlice:
    """The windows that a batch covers: event times from `start` to `end` (exclusive), in ms.

    Examples:
        In a foreachBatch function:

        >>> hours = lockgate_spark.slice_of(batch)
        >>> if hours.complete:
        ...     hours.rows(batch).write.mode("overwrite").parquet(f"{folder}/{hours.start}")

    Attributes:
        complete: Whether the batch has every record of these windows: none was deleted, none lies
            before the query's first offset, and none was found in the log after the batch, within
            `max_out_of_orderness`.
        missing_from: Partitions that may lack earlier records of these windows.
        stragglers_in: Partitions in which records of these windows come after the batch. Such
            records are searched for only if the windows would otherwise be complete.

    """

    start: int
    end: int
    complete: bool
    missing_from: tuple[str, ...] = ()
    stragglers_in: tuple[str, ...] = ()

    def rows(self, batch: "DataFrame", event_time: str = "timestamp") -> "DataFrame":
        """Return the rows of `batch` that belong to these windows. `event_time` is a column or a
        SQL expression that gives a timestamp.
        """
        return batch.where(self._condition(event_time))

    def stragglers(self, batch: "DataFrame", event_time: str = "timestamp") -> "DataFrame":
        """Return the rows of `batch` outside these windows. They usually belong to windows of
        earlier batches.

        Merge them into your results; do not overwrite results with them.
        """
        return batch.where(f"NOT coalesce({self._condition(event_time)}, false)")

    def _condition(self, event_time: str) -> str:
        return f"(({event_time}) >= timestamp_millis({self.start}L) AND ({event_time}) < timestamp_millis({self.end}L))"


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


def is_unread(partition: PartitionAlignment) -> bool:
    """Return whether the partition had unread records before the batch."""
    return partition.end > partition.position or partition.next_event_time is not None
