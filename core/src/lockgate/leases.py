"""Leases: when a reader is lost, and why an outage is not a loss.

The rule. A reader that has reported and is then silent for `lease_ms` is lost: from that very millisecond on it no longer counts, or
holds on, as the group's configuration says, and its reach is forgotten, since it will never redeem it. A finished reader needs no
lease. Flink has none at all: a dead subtask's last watermark holds its group for ever (FLINK-40505).

The silence of one is a loss; the silence of all is an outage. If no reader at all was heard for longer than a living group can be
silent (`tolerance_ms`), then the service, the store or the network was away, and a lease that ran out meanwhile proves nothing.
Taken as a loss it would do harm: whoever comes back first would find himself alone, with no ceiling but his own. So the first
command after such a silence adds its length to the leases of all that were not lost when it began, also of those that somebody has
found lost meanwhile: they have the time left that they had then, and hold the ceiling meanwhile with what they had reported.

A clock that was put back (another Redis took over, say) would make each lease longer by as much, and hide the next silence. So the
first command that finds it behind the last word by more than the tolerance puts all that the group has noted back, as far as that word.

Why this is safe. It only ever lengthens leases, so it can hold readers back but set none free. It cannot hold for ever: a reader
is excused once and not again until it has been heard, so a dead reader among slow ones is lost after its lease and one silence.

Used by `commands`, `alignment` and the service's inspection.
"""

from dataclasses import replace

from lockgate.events import GroupConfig
from lockgate.group import Group
from lockgate.readers import Reader


def lease_ends(reader: Reader, config: GroupConfig) -> int:
    """The first millisecond at which the reader, if it is not heard before, is lost."""
    return reader.heard_at + config.lease_ms


def has_finished(reader: Reader) -> bool:
    return reader.reported is not None and reader.reported.finished


def is_lost(reader: Reader, config: GroupConfig, now_ms: int) -> bool:
    """Whether the lease has ended. A reader that never reported can lose its lease too, though nobody misses it."""
    return lease_ends(reader, config) <= now_ms and not has_finished(reader)


def tolerance_ms(config: GroupConfig) -> int:
    """How long a group with living readers can be silent as a whole: readers are heard every third of a lease, or sooner."""
    return max(2 * config.update_interval_ms, config.lease_ms // 3)


def silent_ms(group: Group, now_ms: int) -> int:
    """For how long no reader was heard, where that is longer than a living group can be silent; else 0. Below 0: the clock was put back."""
    silence = 0 if group.heard_at is None else now_ms - group.heard_at
    return 0 if abs(silence) <= tolerance_ms(group.config) else silence


def after_silence(group: Group, now_ms: int) -> Group:
    """The group in which a command arrives at `now_ms`: if all were silent for too long, leases and waits are longer by the silence."""
    silence = silent_ms(group, now_ms)
    if silence == 0:
        return group
    if silence < 0:
        return _put_back(group, silence, now_ms)
    readers = {key: _excused(reader, group.config, silence, now_ms) for key, reader in group.readers.items()}
    return replace(group, readers=group.readers.updated(readers))


def after_leases(group: Group, now_ms: int) -> Group:
    """The group in which every reader whose lease has ended is marked as lost, and what it offered forgotten. O(those)."""
    first = group.readers.first_heard()
    if first is None or first + group.config.lease_ms > now_ms:
        return group
    ended = group.readers.heard_until(now_ms - group.config.lease_ms)
    lost = {key: replace(without_reach(group.readers[key]), lost=True, held_since=None, overdue=False) for key in ended}
    return replace(group, readers=group.readers.updated(lost))


def without_reach(reader: Reader) -> Reader:
    if reader.reported is None or reader.reported.reach is None:
        return reader
    return replace(reader, reported=replace(reader.reported, reach=None))


def _excused(reader: Reader, config: GroupConfig, silence: int, now_ms: int) -> Reader:
    """Who had been lost when the silence began stays lost: the end of its lease moves from before the silence to before now."""
    if reader.held_since is not None:
        reader = replace(reader, held_since=reader.held_since + silence)
    if reader.excused:
        return reader
    if is_lost(reader, config, now_ms):
        reader = without_reach(reader)
    reader = replace(reader, heard_at=reader.heard_at + silence, excused=True)
    return replace(reader, lost=reader.lost and is_lost(reader, config, now_ms))


def _put_back(group: Group, by_ms: int, now_ms: int) -> Group:
    """The group as if it had gone by the clock that it goes by now. What was given out stays: it only rises. O(readers)."""
    readers = {key: _moved(reader, group.config, by_ms, now_ms) for key, reader in group.readers.items()}
    return replace(group, heard_at=now_ms, grace_until=group.grace_until + by_ms, readers=group.readers.updated(readers))


def _moved(reader: Reader, config: GroupConfig, by_ms: int, now_ms: int) -> Reader:
    progressed = None if reader.progressed_at is None else reader.progressed_at + by_ms
    held = None if reader.held_since is None else reader.held_since + by_ms
    reader = replace(reader, heard_at=reader.heard_at + by_ms, progressed_at=progressed, held_since=held)
    return replace(reader, lost=reader.lost and is_lost(reader, config, now_ms))
