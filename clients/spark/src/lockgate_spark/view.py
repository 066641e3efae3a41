"""What a foreachBatch function can see of the alignment that made its batch."""

from collections.abc import Callable
from dataclasses import dataclass

from lockgate.events import HeldBy, WatermarkAlignmentEvent
from lockgate.planner import Limit, Plan, SplitState
from lockgate_spark.logs.unread import Key


@dataclass(frozen=True, slots=True)
class SplitAlignment:
    """One split: the batch holds offsets `position` to `end` (exclusive). `watermark`: before the batch, ms. `next_event_time`: of
    the first record left unread, ms, where it is known. `left_out`: how many of its records the plan met that are stamped beyond
    `future_bound` or `past_bound`; there may be more between those that it looked at.
    """

    source: int
    split: str
    position: int
    end: int
    state: SplitState
    watermark: int
    next_event_time: int | None
    left_out: int
    let_go: int = 0  # offsets above the ceiling, which Kafka is about to delete


@dataclass(frozen=True, slots=True)
class BatchAlignment:
    """The plan that made a batch. Event times in ms since the epoch.

    `target`: no record above it was read. `ceiling`: what the plan had to stay under. `limit`: what kept it from going further.
    `paused`: splits whose next record is above the ceiling; `resumed`: those that were paused and now read on. `group_watermark`
    and `held_by`: as the coordinator last told, None and empty without one. `planned_at`: wall clock in seconds when the plan was made.
    `seconds`: what the plan took, waiting left out; `look_ups`: how often Kafka was asked for it, source by source.
    `applied`: False in mode observe, where all this is what would have been.
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
    let_go: tuple[str, ...] = ()  # paused splits that are read above the ceiling, as far as retention is about to delete them


def describe(
    plan: Plan[Key],
    paused_before: frozenset[Key],
    told: WatermarkAlignmentEvent | None,
    left_out: Callable[[Key, int, int], int],
    planned_at: float,
    seconds: float,
    applied: bool,
) -> BatchAlignment:
    """The view of a plan. `told`: the coordinator's last answer. `left_out`: how many records of a split were met that take no part."""
    read_on = (key for key in paused_before & plan.splits.keys() if plan.splits[key].end > plan.splits[key].position)
    return BatchAlignment(
        target=plan.target,
        ceiling=plan.ceiling,
        limit=plan.limit,
        splits=tuple(
            SplitAlignment(
                *key, s.position, s.end, s.state, s.watermark, s.next.event_time if s.next else None, left_out(key, s.position, s.end)
            )
            for key, s in plan.splits.items()
        ),
        paused=tuple(sorted(name for _, name in plan.paused)),
        resumed=tuple(sorted(name for _, name in read_on)),
        group_watermark=None if told is None else told.group_watermark,
        held_by=() if told is None else told.held_by,
        planned_at=planned_at,
        seconds=seconds,
        look_ups=plan.look_ups,
        applied=applied,
    )
