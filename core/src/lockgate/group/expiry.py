"""Expiry: removal of readers and groups that have long been unused, so that a store stays small.

A *reader* expires some time after its lease has ended, or after it has finished. The time is
measured up to the last report in the group, and not up to now. So a silence of all readers makes no
reader expire: it may be an outage, and afterwards the readers are excused (`leases`). The expiry of
a reader changes no ceiling: a lost reader that still counts in the group (`on_lost_reader: hold`)
never expires. It blocks the others until it returns, or an operator evicts it or configures
`exclude`.

A *group* expires once it has had no living reader for some time. It stays if an operator has
configured it, or while a lost reader blocks it. A reader that comes back finds no group, and
creates it again, with the ceiling that the reader received last (`group`).

Flink's groups end with their job. Kafka deletes the offsets of a group without members after seven
days, which is the default for readers and groups here.
"""

from dataclasses import dataclass

from lockgate.group.group import Group
from lockgate.group.leases import has_finished, lease_ends
from lockgate.group.now import Now
from lockgate.group.reader import Reader, ReaderKey
from lockgate.wire.events import OnLostReader

WEEK_MS = 7 * 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Expiry:
    """The times (ms) for which dead readers, and groups without living readers, are kept. None
    means for ever.
    """

    readers_ms: int | None = WEEK_MS
    groups_ms: int | None = WEEK_MS


def expired_readers(group: Group, expiry: Expiry) -> list[ReaderKey]:
    """Return the readers that have expired. Takes O(readers)."""
    if expiry.readers_ms is None or group.heard_at is None:
        return []
    until = group.heard_at - expiry.readers_ms
    return [key for key, reader in group.readers.items() if _is_dead(reader, group, until)]


def has_expired(group: Group, expiry: Expiry, now: Now) -> bool:
    if expiry.groups_ms is None or group.configured_at:
        return False
    until = now.judged_ms(expiry.groups_ms) - expiry.groups_ms
    if max(group.created_at, group.heard_at or 0) > until:
        return False
    return all(_is_dead(reader, group, until) for reader in group.readers.values())


def _is_dead(reader: Reader, group: Group, until: int) -> bool:
    """Return whether the reader finished, or its lease ended, at `until` (ms) or before.

    A lost reader that still counts (`on_lost_reader: hold`) is not dead.
    """
    if has_finished(reader):
        return reader.heard_at <= until
    holds = group.config.on_lost_reader is OnLostReader.HOLD and reader.reported is not None
    return not holds and lease_ends(reader, group.config) <= until
