"""What a foreachBatch function can see of the alignment that made its batch."""

from dataclasses import dataclass

from lockgate.events import HeldBy
from lockgate.planner import Limit, SplitState


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


@dataclass(frozen=True, slots=True)
class BatchAlignment:
    """The plan that made a batch. Event times in ms since the epoch.

    `target`: no record above it was read. `ceiling`: what the plan had to stay under. `limit`: what kept it from going further.
    `paused`: splits whose next record is above the ceiling; `resumed`: those that were paused and now read on. `group_watermark`
    and `held_by`: as the coordinator last told, None and empty without one. `planned_at`: wall clock in seconds when the plan was made.
    `seconds`: what the plan took, waiting left out.
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
