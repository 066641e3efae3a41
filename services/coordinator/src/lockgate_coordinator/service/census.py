"""How many readers of a group are in which state, and what that says of the group's health."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from lockgate.group.group import Group
from lockgate.group.leases import is_lost, is_parked
from lockgate.group.now import Now
from lockgate.group.reader import Reader, ReaderKey
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import WatermarkAlignmentEvent

HEALTH = ("lost", "overdue", "starting", "paused", "waiting", "healthy", "idle")
"""A group's health, worst first: a reader is lost; a reader has waited for longer than
`max_wait_ms`; an expected or registered reader has not reported; an operator has paused a source; a
reader waits at the ceiling; all read; none is left that reads.
"""

LOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Census:
    """`states`: readers by state; `waiting`: those at the ceiling; `overdue`: for too long;
    `foremost`: the highest watermark of an active reader, MIN for none; `lost`: some lost readers.
    """

    states: Mapping[str, int] = field(default_factory=dict)
    waiting: int = 0
    overdue: int = 0
    foremost: int = MIN
    lost: tuple[ReaderKey, ...] = ()


def census(group: Group, now_ms: int) -> Census:
    """Look at each reader. O(readers)."""
    states, waiting, overdue, foremost, lost = Counter[str](), 0, 0, MIN, list[ReaderKey]()
    for key, reader in group.readers.items():
        state = state_of(group, reader, now_ms)
        states[state] += 1
        if state == "lost" and len(lost) < LOST_NAMED:
            lost.append(key)
        waiting += reader.held_since is not None
        overdue += reader.overdue
        reported = reader.reported
        if state == "active" and reported is not None and foremost < reported.watermark < MAX:
            foremost = reported.watermark
    return Census(dict(sorted(states.items())), waiting, overdue, foremost, tuple(lost))


def health_of(group: Group, event: WatermarkAlignmentEvent, counted: Census) -> str:
    """Return the group's health, one of `HEALTH`."""
    if counted.states.get("lost"):
        return "lost"
    if counted.overdue:
        return "overdue"
    if group.sources_missing or (counted.states.get("registered") and event.group_watermark == MIN):
        return "starting"
    if group.paused_sources:
        return "paused"
    if counted.waiting:
        return "waiting"
    return "healthy" if event.blocked_by else "idle"


def state_of(group: Group, reader: Reader, now_ms: int) -> str:
    """Return a reader's state in one word: registered, active, idle, parked, finished, passed_over
    or lost.
    """
    reported = reader.reported
    if reported is None:
        return "lost" if is_lost(reader, group.config, Now(now_ms)) else "registered"
    if reader.lost:
        return "lost"
    if reported.finished:
        return "finished"
    if reader.passed_over:
        return "passed_over"
    return "parked" if is_parked(reader) else "idle" if reported.idle else "active"
