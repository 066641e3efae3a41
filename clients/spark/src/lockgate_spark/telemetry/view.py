"""The view of a plan: what a foreachBatch function, progress and gauges show of it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from lockgate.plan.clock import AHEAD_MS
from lockgate.plan.model import Limit, Plan, PlannedState, SplitPlan
from lockgate.wire.events import HeldBy, SourcePause, WatermarkAlignmentEvent
from lockgate_client.group.outage import Coordination
from lockgate_spark.logs.names import names
from lockgate_spark.logs.unread import Key
from lockgate_spark.telemetry.batch_slice import BatchSlice
from lockgate_spark.telemetry.waits import operator


@dataclass(frozen=True, slots=True)
class SplitAlignment:
    """One split. The batch holds its offsets `position` to `end` (exclusive).

    `watermark`: before the batch, ms. `next_event_time`: of the first record left unread, ms, where
    it is known. `left_out`: how many records the plan met that are stamped beyond `future_bound` or
    `past_bound`, or have no event time; records that it did not look at are not counted.
    `left_out_so_far`: the same, of all batches so far in the run. `lag`: the largest lag (ms) of
    its producer behind the clock that was seen; None where no record has come since the split was
    caught up. `paused_since`: wall clock in seconds; None where the split is not paused. `let_go`:
    offsets above the ceiling that are read because Kafka is about to delete them. `disorder`: by
    how many ms a record was seen to be older than one before it; few records are looked at.
    `stopped_ms`: for how long (ms) the split has been stopped at a record of its own that is
    stamped ahead of the clock. `far_behind`: its records are so far behind the clock that it holds
    no other split.
    """

    source: int
    split: str
    position: int
    end: int
    state: PlannedState
    watermark: int
    next_event_time: int | None
    left_out: int
    lag: int | None = None
    paused_since: float | None = None
    let_go: int = 0
    disorder: int = 0
    stopped_ms: int = 0
    left_out_so_far: int = 0
    far_behind: bool = False


@dataclass(frozen=True, slots=True)
class BatchAlignment:
    """The plan that made a batch. Event times are in ms since the epoch.

    `target`: no record above it was read. `ceiling`: the limit that the plan had to stay under.
    `limit`: why the plan goes no further. `paused`: splits whose next record is above the ceiling;
    a name that several sources have is followed by its source, here and in the fields below.
    `resumed`: splits that were paused and now read on. `group_watermark` and `held_by`: from the
    coordinator's last event; None and empty without a coordinator. `bounded_by`: where the limit is
    the horizon, the split that may still bring the oldest records, or is stopped by one of its own.
    `planned_at`: wall clock in seconds when the plan was made. `seconds`: how long the plan took,
    without waiting. `look_ups`: how often Kafka was asked for it, over all sources. `applied`:
    False in mode observe, where the view shows what alignment would have done.

    `coordinator`: whether the ceiling comes from the group (`told`), from the group's last event
    before an outage (`holding`), or from nobody (`proceeding`); None without a coordinator.
    `slice`: the windows of the batch, where `Alignment(slice)` cuts it. `let_go`: paused splits
    that are read above the ceiling, as far as retention is about to delete their records.
    `rows_saved`: an estimate of the rows that would have been late by now, had Spark split the
    budgets by backlog; None in mode observe, and where the query has no watermark on aligned
    sources alone. `disorder`: how far out of order (ms) the plans take the records of one split to
    be: as promised, else as seen so far. `behind`: where a split of the query keeps it behind the
    clock, a sentence that says by how much, which split, and why; else empty. `rows_too_late`: the
    offsets of this run that came later than their producer had shown, and below Spark's watermark.
    `operator_pause`: since when an operator has paused the query, and the operator's name; None
    where the query is not paused.
    """

    target: int
    ceiling: int
    limit: Limit
    splits: tuple[SplitAlignment, ...]
    paused: tuple[str, ...]
    resumed: tuple[str, ...]
    group_watermark: int | None
    held_by: tuple[HeldBy, ...]
    planned_at: float
    seconds: float
    applied: bool = True
    look_ups: int = 0
    let_go: tuple[str, ...] = ()
    slice: BatchSlice | None = None
    bounded_by: str | None = None
    coordinator: Coordination | None = None
    rows_saved: int | None = None
    disorder: int = 0
    behind: str = ""
    rows_too_late: int = 0
    operator_pause: SourcePause | None = None

    @property
    def holder(self) -> str:
        """The names of what keeps the query from reading on: a split of its own, readers of the
        group, or an operator; else empty.
        """
        if self.limit is Limit.GROUP and self.operator_pause is not None:
            return operator(self.operator_pause)
        if self.limit is Limit.GROUP:
            return ", ".join(f"{held.source}/{held.subtask}" for held in self.held_by)
        return self.bounded_by or ""

    @property
    def spread(self) -> int:
        """How far apart (ms) in event time the first unread records of the splits were before the
        batch. A gap in a log counts.
        """
        watermarks = [
            split.watermark for split in self.splits if split.state in (PlannedState.ACTIVE, PlannedState.PAUSED)
        ]
        return max(watermarks) - min(watermarks) if watermarks else 0

    @property
    def behind_ms(self) -> int:
        """How far behind the clock (ms) the oldest record of a paused split was when the plan was
        made. Of a split that is stopped at a record ahead of the clock: for how long. 0 where no
        split is paused.
        """
        now = int(self.planned_at * 1000)
        held = [split for split in self.splits if split.paused_since is not None]
        return max((max(split.stopped_ms, now - (split.next_event_time or now)) for split in held), default=0)

    @property
    def paused_ms(self) -> int:
        """For how long (ms) a split had been paused when the plan was made: the longest pause."""
        since = min(
            (split.paused_since for split in self.splits if split.paused_since is not None), default=self.planned_at
        )
        return round((self.planned_at - since) * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanContext:
    """What a view shows beside the plan itself.

    `planned_at`: wall clock in seconds. `seconds`: how long the plan took. `before`: the view of
    the plan before this one. `group`: the coordinator's last event. `slowest`: the split that
    bounds the horizon, or is stopped. `lags`: of the producers, ms. `stopped`: for how long (ms)
    splits have been stopped at records ahead of the clock. `far_behind`: splits that hold no other
    one. `left_out`: how many records of each split were met that take no part; `left_out_so_far`:
    in the run, where that has changed. `coordinator`, `operator_pause`, `disorder` and `applied`:
    as in `BatchAlignment`.
    """

    planned_at: float
    seconds: float
    before: BatchAlignment | None = None
    group: WatermarkAlignmentEvent | None = None
    coordinator: Coordination | None = None
    operator_pause: SourcePause | None = None
    slowest: Key | None = None
    lags: Mapping[Key, int] = field(default_factory=dict)
    stopped: Mapping[Key, int] = field(default_factory=dict)
    far_behind: Collection[Key] = ()
    left_out: Mapping[Key, int] = field(default_factory=dict)
    left_out_so_far: Mapping[Key, int] = field(default_factory=dict)
    disorder: int = 0
    applied: bool = True


def describe(plan: Plan[Key], context: PlanContext) -> BatchAlignment:
    """The view of a plan."""
    before, group, slowest = context.before, context.group, context.slowest
    since = (
        {}
        if before is None
        else {(s.source, s.split): s.paused_since for s in before.splits if s.paused_since is not None}
    )
    counted = {} if before is None else {(s.source, s.split): s.left_out_so_far for s in before.splits}
    left_out_so_far = {**counted, **context.left_out_so_far}
    paused, made = plan.paused, plan.splits
    called = names(made, made)
    read_on = (key for key in since if key in made and made[key].end > made[key].position)
    return BatchAlignment(
        target=plan.target,
        ceiling=plan.ceiling,
        limit=plan.limit,
        splits=tuple(
            SplitAlignment(
                source=key[0],
                split=key[1],
                position=s.position,
                end=s.end,
                state=s.state,
                watermark=s.watermark,
                next_event_time=s.next.event_time if s.next else None,
                left_out=context.left_out.get(key, 0),
                lag=context.lags.get(key),
                paused_since=since.get(key, context.planned_at) if key in paused else None,
                stopped_ms=_stopped_ms(s, context.stopped.get(key, 0), context) if key in paused else 0,
                left_out_so_far=left_out_so_far.get(key, 0),
                far_behind=key in context.far_behind,
            )
            for key, s in made.items()
        ),
        paused=tuple(sorted(called[key] for key in paused)),
        resumed=tuple(sorted(called[key] for key in read_on)),
        group_watermark=None if group is None else group.group_watermark,
        held_by=() if group is None else group.held_by,
        bounded_by=called[slowest] if slowest is not None and plan.limit is Limit.HORIZON else None,
        planned_at=context.planned_at,
        seconds=context.seconds,
        look_ups=plan.look_ups,
        coordinator=context.coordinator,
        operator_pause=context.operator_pause,
        disorder=context.disorder,
        applied=context.applied,
    )


def _stopped_ms(made: SplitPlan, known: int, context: PlanContext) -> int:
    """For how long (ms) a paused split has been stopped. Of one that stops with this plan: since
    the plan before, when its record can have come.
    """
    now = int(context.planned_at * 1000)
    if known or context.before is None or made.next is None or made.next.event_time <= now + AHEAD_MS:
        return known
    return max(0, now - int(context.before.planned_at * 1000))
