"""Leases: when a reader is lost, and why an outage is not a loss.

The rule. A reader that has reported and is then silent for `lease_ms` is lost: from that very
millisecond on it no longer counts, or holds on, as the group's configuration says, and its reach is
forgotten, since it will never redeem it. A finished reader needs no lease. Flink has none at all: a
dead subtask's last watermark holds its group for ever (FLINK-40505).

A scheduled run ends, and the next one begins an hour later. In between its source has not left:
others that ran ahead of it would make its rows late. So its last report may ask to be *parked*: its
lease is then as long as it asks for. Everything else is as with any lease, but that it offers no
reach, since its next batch is far away. With its next report it is parked no longer.

The silence of one is a loss; the silence of all is an outage. If no reader at all was heard for
longer than a living group can be silent (`tolerance_ms`), then the service, the store or the
network was away, and a lease that ran out meanwhile proves nothing. Taken as a loss it would do
harm: whoever comes back first would find himself alone, with no ceiling but his own. So the first
command after such a silence adds its length to the leases of all that were not lost when it began,
also of those that somebody has found lost meanwhile: they have the time left that they had then,
and hold the ceiling meanwhile with what they had reported. Who was parked had announced its
silence: by this it is left no more than one `lease_ms`, and what it had asked for in any case.

A clock that was put back (another Redis took over, say) would make each lease longer by as much,
and hide the next silence. So the first command that finds it behind the last word by more than the
tolerance puts all that the group has noted back, as far as that word. And a clock that was ahead
while somebody looked has ended leases that it should not have: who was found lost at a time that is
still to come, by more than the tolerance, is judged anew.

Why this is safe. It only ever lengthens leases, so it can hold readers back but set none free. It
cannot hold for ever: a reader is excused once and not again until it has been heard, so a dead
reader among slow ones is lost after its lease and one silence.

Used by `commands`, `alignment` and the service's inspection.
"""

from dataclasses import replace

from lockgate.group.group import Group
from lockgate.group.readers import Reader
from lockgate.wire.events import GroupConfig, ReportedWatermarkEvent


def lease_ends(reader: Reader, config: GroupConfig) -> int:
    """The first millisecond at which the reader, if it is not heard before, is lost."""
    parked = None if reader.reported is None else reader.reported.park_ms
    return reader.heard_at + (config.lease_ms if parked is None else parked)


def first_lease_end(group: Group) -> int | None:
    """When the first lease ends of those that run; None: none runs."""
    heard, parked = group.readers.first_heard(), group.readers.first_parked()
    ends = [] if heard is None else [heard + group.config.lease_ms]
    return min(ends if parked is None else [*ends, parked], default=None)


def is_parked(reader: Reader) -> bool:
    return reader.reported is not None and reader.reported.park_ms is not None and not reader.reported.finished


def has_finished(reader: Reader) -> bool:
    return reader.reported is not None and reader.reported.finished


def is_lost(reader: Reader, config: GroupConfig, now_ms: int) -> bool:
    """Whether the lease has ended. A reader that never reported can lose its lease too, though
    nobody misses it.
    """
    return lease_ends(reader, config) <= now_ms and not has_finished(reader)


def tolerance_ms(config: GroupConfig) -> int:
    """How long a group with living readers can be silent as a whole: readers are heard every third
    of a lease, or sooner.
    """
    return max(2 * config.update_interval_ms, config.lease_ms // 3)


def silent_ms(group: Group, now_ms: int) -> int:
    """For how long no reader was heard, where that is longer than a living group can be silent;
    else 0. Below 0: the clock was put back.
    """
    silence = 0 if group.heard_at is None else now_ms - group.heard_at
    return 0 if abs(silence) <= tolerance_ms(group.config) else silence


def after_silence(group: Group, now_ms: int) -> Group:
    """The group in which a command arrives at `now_ms`: if all were silent for too long, leases and
    waits are longer by the silence.
    """
    silence = silent_ms(group, now_ms)
    if silence == 0:
        return group
    if silence < 0:
        return _put_back(group, silence, now_ms)
    readers = {key: _excused(reader, group.config, silence, now_ms) for key, reader in group.readers.items()}
    return replace(group, readers=group.readers.updated(readers))


def after_leases(group: Group, now_ms: int) -> Group:
    """The group in which every reader whose lease has ended is marked as lost: what it offered
    counts no more. O(those).
    """
    group = _judged_anew(group, now_ms)
    first = first_lease_end(group)
    if first is None or first > now_ms:
        return group
    readers = group.readers
    ended = readers.heard_until(now_ms - group.config.lease_ms) + readers.parked_until(now_ms)
    return replace(group, readers=readers.updated({key: _lost(readers[key]) for key in ended}), losses_at=now_ms)


def without_reach(reported: ReportedWatermarkEvent) -> ReportedWatermarkEvent:
    """The report of a reader that will never redeem what it offered."""
    if reported.reach is None:
        return reported
    return (
        # rather than `replace`, which takes four times as long: it may be all readers at once
        ReportedWatermarkEvent(
            subtask=reported.subtask,
            epoch=reported.epoch,
            watermark=reported.watermark,
            idle=reported.idle,
            finished=reported.finished,
            batch_id=reported.batch_id,
            park_ms=reported.park_ms,
            splits=reported.splits,
        )
    )


def _lost(reader: Reader) -> Reader:
    return reader.after_time(
        heard_at=reader.heard_at,
        excused=reader.excused,
        lost=True,
        reported=reader.reported,
        progressed_at=reader.progressed_at,
        held_since=None,
        overdue=False,
    )


def _judged_anew(group: Group, now_ms: int) -> Group:
    """By a clock that is behind the moment at which somebody was found lost. O(readers), and once
    for each time that it is put back.
    """
    if group.losses_at is None or group.losses_at - now_ms <= tolerance_ms(group.config):
        return group
    living = [key for key, reader in group.readers.items() if reader.lost and not is_lost(reader, group.config, now_ms)]
    readers = group.readers.updated({key: replace(group.readers[key], lost=False) for key in living})
    return replace(group, readers=readers, losses_at=now_ms)


def _excused(reader: Reader, config: GroupConfig, silence: int, now_ms: int) -> Reader:
    """Who had been lost when the silence began stays lost: the end of its lease moves from before
    the silence to before now.
    """
    held_since = None if reader.held_since is None else reader.held_since + silence
    heard_at, lost, reported = reader.heard_at, reader.lost, reader.reported
    if not reader.excused:
        ends = lease_ends(reader, config)
        if ends <= now_ms and reported is not None and not reported.finished:
            reported = without_reach(reported)
        # no more than a whole lease is left by it
        longer = min(silence, now_ms + config.lease_ms - ends)
        heard_at += max(0, longer)
        lost = lost and ends + longer <= now_ms
    return reader.after_time(
        heard_at=heard_at,
        excused=True,
        lost=lost,
        reported=reported,
        progressed_at=reader.progressed_at,
        held_since=held_since,
        overdue=reader.overdue,
    )


def _put_back(group: Group, by_ms: int, now_ms: int) -> Group:
    """The group as if it had gone by the clock that it goes by now. What was given out stays: it
    only rises. O(readers).
    """
    readers = group.readers.updated(
        {key: _moved(reader, group.config, by_ms, now_ms) for key, reader in group.readers.items()}
    )
    return replace(group, heard_at=now_ms, grace_until=group.grace_until + by_ms, readers=readers, losses_at=None)


def _moved(reader: Reader, config: GroupConfig, by_ms: int, now_ms: int) -> Reader:
    return reader.after_time(
        heard_at=reader.heard_at + by_ms,
        excused=reader.excused,
        lost=reader.lost and lease_ends(reader, config) + by_ms <= now_ms,
        reported=reader.reported,
        progressed_at=None if reader.progressed_at is None else reader.progressed_at + by_ms,
        held_since=None if reader.held_since is None else reader.held_since + by_ms,
        overdue=reader.overdue,
    )
