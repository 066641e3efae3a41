"""What a foreachBatch function can see of the alignment that made its batch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lockgate.plan.model import Limit, Plan, SplitState
from lockgate.wire.events import HeldBy, WatermarkAlignmentEvent
from lockgate_spark.group.outage import Coordination
from lockgate_spark.logs.unread import Key
from lockgate_spark.planning.slices import BatchSlice


@dataclass(frozen=True, slots=True)
class SplitAlignment:
    """One split: the batch holds offsets `position` to `end` (exclusive). `watermark`: before the
    batch, ms. `next_event_time`: of the first record left unread, ms, where it is known.
    `left_out`: how many of its records the plan met that are stamped beyond `future_bound` or
    `past_bound`; there may be more between those that it looked at. `lag`: how far behind the clock
    (ms) its producer was seen to be, at least; None where no record has come since the split was
    caught up. `paused_since`: wall clock in seconds; None where it is not.
    """

    source: int
    split: str
    position: int
    end: int
    state: SplitState
    watermark: int
    next_event_time: int | None
    left_out: int
    lag: int | None = None
    paused_since: float | None = None
    let_go: int = 0  # offsets above the ceiling, which Kafka is about to delete
    disorder: int = (
        # by how many ms a record was seen to be older than one before it, so far: few records are
        # looked at
        0
    )


@dataclass(frozen=True, slots=True)
class BatchAlignment:
    """The plan that made a batch. Event times in ms since the epoch.

    `target`: no record above it was read. `ceiling`: what the plan had to stay under. `limit`: what
    kept it from going further. `paused`: splits whose next record is above the ceiling; `resumed`:
    those that were paused and now read on. `group_watermark` and `held_by`: as the coordinator last
    told, None and empty without one. `bounded_by`: where the limit is the horizon, the split that
    may still bring the oldest records. `planned_at`: wall clock in seconds when the plan was made.
    `seconds`: what the plan took, waiting left out; `look_ups`: how often Kafka was asked for it,
    source by source. `applied`: False in mode observe, where all this is what would have been.
    `coordinator`: whether the ceiling is what the group told, the last that it told before an
    outage, or none (`told`, `holding`, `proceeding`); None without a coordinator. `slice`: the
    windows of the batch, where `Alignment(slice)` cuts it. `rows_saved`: an estimate of how many
    rows would have been late by now, had Spark split the budgets by backlog; None where the query
    has no watermark on what is aligned alone, and in mode observe. `disorder`: how far out of order
    (ms) records of one split are taken to be: as was promised, else as was seen so far. `behind`:
    where a split of its own keeps the query behind the clock, a sentence that says by how much,
    which split, and why; else empty. `rows_too_late`: how many offsets of this run came further
    behind the clock than their producer had shown, below Spark's watermark.
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
    let_go: tuple[
        str, ...
    ] = ()  # paused splits that are read above the ceiling, as far as retention is about to delete them
    slice: BatchSlice | None = None
    bounded_by: str | None = None
    coordinator: Coordination | None = None
    rows_saved: int | None = None
    disorder: int = 0
    behind: str = ""
    rows_too_late: int = 0

    @property
    def holder(self) -> str:
        """What keeps the query from reading on: a split of its own, or the group's readers; empty
        where nobody does.
        """
        if self.limit is Limit.GROUP:
            return ", ".join(f"{held.source}/{held.subtask}" for held in self.held_by)
        return self.bounded_by or ""

    @property
    def spread(self) -> int:
        """How far apart (ms) in event time the first unread records of the splits were before the
        batch. A gap in a log counts.
        """
        stood = [split.watermark for split in self.splits if split.state in (SplitState.ACTIVE, SplitState.PAUSED)]
        return max(stood) - min(stood) if stood else 0

    @property
    def behind_ms(self) -> int:
        """How far behind the clock (ms) the first record is that is held back, when the plan was
        made; 0 where none is.
        """
        held = [
            split.next_event_time
            for split in self.splits
            if split.paused_since is not None and split.next_event_time is not None
        ]
        return max(0, int(self.planned_at * 1000) - min(held)) if held else 0

    @property
    def paused_ms(self) -> int:
        """How long the split that is paused longest has been, when the plan was made."""
        since = min(
            (split.paused_since for split in self.splits if split.paused_since is not None), default=self.planned_at
        )
        return round((self.planned_at - since) * 1000)


def describe(
    plan: Plan[Key],
    before: BatchAlignment | None,
    told: WatermarkAlignmentEvent | None,
    slowest: Key | None,
    lags: Mapping[Key, int],
    left_out: Callable[[Key, int, int], int],
    planned_at: float,
    seconds: float,
    applied: bool,
) -> BatchAlignment:
    """The view of a plan. `before`: of the plan before it. `told`: the coordinator's last answer.
    `slowest`: which split bounds the horizon. `lags`: of the producers, ms. `left_out`: how many
    records of a split were met that take no part.
    """
    since = (
        {}
        if before is None
        else {(s.source, s.split): s.paused_since for s in before.splits if s.paused_since is not None}
    )
    paused, made = plan.paused, plan.splits
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
                left_out=left_out(key, s.position, s.end),
                lag=lags.get(key),
                paused_since=since.get(key, planned_at) if key in paused else None,
            )
            for key, s in made.items()
        ),
        paused=tuple(sorted(name for _, name in paused)),
        resumed=tuple(sorted(name for _, name in read_on)),
        group_watermark=None if told is None else told.group_watermark,
        held_by=() if told is None else told.held_by,
        bounded_by=slowest[1] if slowest is not None and plan.limit is Limit.HORIZON else None,
        planned_at=planned_at,
        seconds=seconds,
        look_ups=plan.look_ups,
        applied=applied,
    )
