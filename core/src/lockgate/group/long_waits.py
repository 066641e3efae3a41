"""How long a reader waits at most for the others: `max_hold_ms` of a group.

A backfill that joins a group stands a year behind, and holds production for as long as it takes to
catch up. Flink would hold for just as long. Where a group says how long is too long, this is what
happens then, by its own choice:

* `alarm`: it is told, and counted, once for each wait. Nothing else changes.
* `proceed`: it is told as well, and who waits is let go: all readers that hold it are *passed
  over*. They no longer count, and read on as fast as they can under a ceiling far above them.
  Expected sources that have not reported are not waited for any longer.

When a reader waits. The one that knows is the reader itself, with each of its reports: it waits if
its watermark is at the ceiling or above, so that its next record is not allowed, and somebody else
is lower (a reader never waits for itself). Readers are heard every third of a lease at least, so
the wait is known to that. It ends with a report from below the ceiling, or with one that parks the
reader, and begins anew with one that is above the reader's last: who gets on, at whatever pace, is
not stopped. It stands still while all are silent (`leases`): in an outage nobody could get on, so
nobody is let go by it, and the waits are longer by it afterwards.

Who holds it. Everybody whose watermark plus the drift does not get above the waiting one's, and who
does not wait itself. A reader that is passed over counts again as soon as it reports from within
the drift of the others' watermark: then nobody has to come back for it by more than that. Or when
nobody else counts any more: else all that were passed over would run free.

Flink has nothing like it. Used by `commands` (the report) and `alignment` (the deadline).
"""

from dataclasses import replace

from lockgate.group.group import Group
from lockgate.group.leases import silent_ms
from lockgate.group.readers import Reader, ReaderKey, effective_watermark
from lockgate.watermark import MAX, MIN, add
from lockgate.wire.events import Mode, OnLostReader, OnMaxHold, ReportedWatermarkEvent


def wait_after(event: ReportedWatermarkEvent, reader: Reader, group: Group, now_ms: int) -> tuple[int | None, bool]:
    """What a report makes of a reader's `held_since` and `passed_over`."""
    watermark, ceiling = effective_watermark(event), group.max_desired_watermark
    held = (
        ceiling <= watermark < MAX
        and group.group_watermark < watermark
        and group.config.mode is Mode.ENFORCE
        and event.park_ms is None
    )
    behind = reader.passed_over and add(watermark, group.config.max_drift_ms) < group.group_watermark < MAX
    if not held:
        return None, behind
    got_on = reader.reported is not None and watermark > effective_watermark(reader.reported)
    return now_ms if reader.held_since is None or got_on else reader.held_since, behind


def hold_ends(group: Group, now_ms: int) -> int | None:
    """The first millisecond at which somebody has waited for too long; None: nobody waits, or may
    wait for ever, or all are silent.
    """
    since = group.readers.first_held()
    if since is None or group.config.max_hold_ms is None or silent_ms(group, now_ms):
        return None
    return add(since, group.config.max_hold_ms)


def after_holds(group: Group, now_ms: int) -> Group:
    """The group in which whoever has waited for too long is overdue or, under `proceed`, let go."""
    ends = hold_ends(group, now_ms)
    if ends is None or now_ms < ends:
        return group
    assert group.config.max_hold_ms is not None
    waiting = group.readers.held_until(now_ms - group.config.max_hold_ms)
    if group.config.on_max_hold is OnMaxHold.PROCEED:
        return _let_go(group, waiting, now_ms)
    return replace(
        group, readers=group.readers.updated({key: replace(group.readers[key], overdue=True) for key in waiting})
    )


def _let_go(group: Group, waiting: list[ReaderKey], now_ms: int) -> Group:
    """Nobody who waits is passed over, however far behind another one that waits; if it is held by
    that one, its wait begins again.
    """
    readers, config = group.readers, group.config
    ahead = max(_watermark(readers[key]) for key in waiting)
    holding = readers.up_to(add(ahead, -config.max_drift_ms), with_lost=config.on_lost_reader is OnLostReader.HOLD)
    changes = {key: replace(readers[key], passed_over=True) for key in holding if readers[key].held_since is None}
    changes |= {key: replace(readers[key], held_since=now_ms) for key in waiting}
    return replace(
        group, readers=readers.updated(changes), sources_seen=group.sources_seen | set(config.expected_sources)
    )


def _watermark(reader: Reader) -> int:
    return MIN if reader.reported is None else effective_watermark(reader.reported)
