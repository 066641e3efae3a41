"""Turns of one command each, with times in ms, and the rules that tests ask for by themselves."""

from collections.abc import Iterable, Mapping
from typing import Any

from lockgate.errors import Refused
from lockgate.group import alignment, expiry, leases, registering
from lockgate.group.alignment import Decision
from lockgate.group.commands import Arrive, Command, Leave, Progress, Register, Renew, Reports, Taken
from lockgate.group.expiry import Expiry
from lockgate.group.group import Group
from lockgate.group.limits import GroupLimits
from lockgate.group.now import Now, Span
from lockgate.group.reader import Arriving
from lockgate.group.turn import turn
from lockgate.wire.events import (
    ProgressEvent,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    WatermarkAlignmentEvent,
)

Stalls = tuple[Span, ...]
NOW = 1_000_000
NO_LIMITS = GroupLimits(*[2**63] * 4)


def after(group: Group, command: Command, now_ms: int, stalls: Stalls = ()) -> Group:
    """Return the group after a turn with this command. Raises the command's refusal."""
    done = turn(group, [command], Now(now_ms, stalls), limits=NO_LIMITS)
    if isinstance(done.outcomes[0], Exception):
        raise done.outcomes[0]
    return done.group


def register(group: Group, source: str, event: ReaderRegistrationEvent, now_ms: int, stalls: Stalls = ()) -> Group:
    return after(group, Register(source, event), now_ms, stalls)


def report(group: Group, source: str, event: ReportedWatermarkEvent, now_ms: int, stalls: Stalls = ()) -> Group:
    reported, refusals = report_all(group, [(source, event)], now_ms, stalls)
    for refusal in refusals.values():
        raise refusal
    return reported


def report_all(
    group: Group, reports: Iterable[tuple[str, ReportedWatermarkEvent]], now_ms: int, stalls: Stalls = ()
) -> tuple[Group, dict[int, Refused]]:
    done = turn(group, [Reports(list(reports))], Now(now_ms, stalls), limits=NO_LIMITS)
    assert isinstance(done.outcomes[0], Taken)
    return done.group, dict(done.outcomes[0].refusals)


def registered(group: Group, source: str, now_ms: int = NOW, *, subtask: int = 0, **more: Any) -> Group:
    return register(group, source, ReaderRegistrationEvent(subtask=subtask, **more), now_ms)


def reported(
    group: Group, source: str, watermark: int, now_ms: int = NOW, *, subtask: int = 0, stalls: Stalls = (), **more: Any
) -> Group:
    """Return the group after a report of a reader, which registers before its first one."""
    if (source, subtask) not in group.readers:
        group = registered(group, source, now_ms, subtask=subtask)
    epoch = more.pop("epoch", group.readers[source, subtask].epoch)
    event = ReportedWatermarkEvent(subtask=subtask, epoch=epoch, watermark=watermark, **more)
    return report(group, source, event, now_ms, stalls)


def progress(group: Group, source: str, event: ProgressEvent, now_ms: int) -> Group:
    return after(group, Progress(source, event), now_ms)


def renew(group: Group, source: str, subtask: int, epoch: int, now_ms: int) -> Group:
    return after(group, Renew(source, subtask, epoch), now_ms)


def leave(group: Group, source: str, subtask: int, epoch: int, now_ms: int) -> Group:
    return after(group, Leave(source, subtask, epoch), now_ms)


def arrive(group: Group, source: str, arriving: Mapping[int, Arriving | None], now_ms: int) -> Group:
    return after(group, Arrive(source, arriving), now_ms)


def evict(group: Group, source: str, subtask: int) -> Group:
    return registering.evict(group, source, subtask)


def evaluate(group: Group, now_ms: int, stalls: Stalls = ()) -> tuple[Group, WatermarkAlignmentEvent]:
    """Return the group and its event after a turn without commands."""
    done = turn(group, [], Now(now_ms, stalls))
    return done.group, done.event


def decide(group: Group, now_ms: int, stalls: Stalls = ()) -> Decision:
    now = Now(now_ms, stalls)
    return alignment.decide(alignment.settled(group, now), now)


def next_deadline(group: Group, now_ms: int, stalls: Stalls = ()) -> int | None:
    return alignment.next_deadline(group, Now(now_ms, stalls))


def after_leases(group: Group, now_ms: int) -> Group:
    return leases.after_leases(group, Now(now_ms))


def has_expired(group: Group, kept: Expiry, now_ms: int, stalls: Stalls = ()) -> bool:
    return expiry.has_expired(group, kept, Now(now_ms, stalls))
