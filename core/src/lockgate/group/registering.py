"""Registering and removing readers, and the rules on which process may act for a reader.

Each command returns the changed group, or raises a `Refused` and changes nothing.

* Fencing. Each registration opens a new epoch of its reader. A command with any other epoch is
  stale. The last report of the older epoch counts until the newer epoch's first report, or until
  the lease ends. So no reader gets ahead because another one restarts.
* Ownership. A reader whose lease still runs stays with its owner (`ReaderBusy`): a second query
  under the same names is more often a mistake than a successor. The same owner replaces its own
  reader at once, and `takeover` replaces any.
* Parking. A registration leaves a parked reader parked for the remaining time, or for one lease if
  that is longer (`leases`).

Flink's `SourceCoordinator` fences by the attempt of a subtask, a number from its job manager.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from lockgate.errors import ReaderBusy, Refused, StaleEpoch, UnknownReader, UnknownSource
from lockgate.group.group import Group, restored, tick
from lockgate.group.leases import has_finished, in_grace, is_lost, lease_ends
from lockgate.group.now import Now
from lockgate.group.reader import Reader, ReaderKey
from lockgate.wire.events import OnLostReader, ReaderRegistrationEvent, ReportedWatermarkEvent

SOURCES_SEARCHED = 8
"""The maximum number of sources to look up in a tuple one by one. For more, a set is cheaper."""


def register(group: Group, source: str, event: ReaderRegistrationEvent, now: Now) -> Group:
    """Return the group with a new epoch of the reader. Raises `ReaderBusy` if another owner's lease
    of the reader still runs, unless the event asks for a takeover.
    """
    group = restored(group, event.config, event.configured_at, now.ms)
    key = (source, event.subtask)
    old = group.readers.get(key)
    lives = old is not None and not is_lost(old, group.config, now) and not has_finished(old)
    if old is not None and lives and old.owner != event.owner and not event.takeover:
        raise ReaderBusy(source, event.subtask, old.owner)
    inherited = None if old is None else _inherited(old, group, now)
    reader = Reader(
        epoch=tick(group.left_epoch if old is None else old.epoch, now.ms),
        heard_at=now.ms,
        owner=event.owner,
        attributes=dict(event.attributes),
        reported=inherited,
        progressed_at=None if old is None else old.progressed_at,
        passed_over=old is not None and old.passed_over,
        arriving=None if old is None or (inherited is None and old.reported is not None) else old.arriving,
    )
    cap = group.cap
    if event.ceiling is not None and in_grace(group, now):
        cap = event.ceiling if cap is None else min(cap, event.ceiling)
    return replace(with_heard(group, {key: reader}, now.ms), cap=cap)


def leave(group: Group, source: str, subtask: int, epoch: int, now: Now) -> Group:
    """Return the group without the reader. Raises the errors of `current`."""
    key = (source, subtask)
    current(group.readers.get(key), group, key, epoch)
    return with_heard(without_readers(group, [key]), {}, now.ms)


def evict(group: Group, source: str, subtask: int) -> Group:
    """Return the group without the reader. Raises `UnknownSource` or `UnknownReader`."""
    key = (source, subtask)
    if key not in group.readers:
        raise _unknown(group, key)
    return without_readers(group, [key])


def current(reader: Reader | None, group: Group, key: ReaderKey, epoch: int) -> Reader:
    """Return `reader`, which is the group's reader `key`, or None if the group does not have it.
    Raises `StaleEpoch` if its epoch is another one, and `UnknownSource` or `UnknownReader` for
    None.
    """
    if reader is None:
        raise _unknown(group, key)
    if reader.epoch != epoch:
        raise StaleEpoch(*key, epoch, reader.epoch)
    return reader


def _unknown(group: Group, key: ReaderKey) -> Refused:
    source, subtask = key
    if group.readers.has_source(source):
        return UnknownReader(group.name, source, subtask)
    return UnknownSource(group.name, source)


def _inherited(old: Reader, group: Group, now: Now) -> ReportedWatermarkEvent | None:
    """Return what still counts of the older epoch's report when a newer epoch opens, or None.

    A registration alone does not make a lost reader count again.
    """
    reported = old.reported
    if reported is None:
        return None
    if is_lost(old, group.config, now):
        return replace(reported, reach=None, park_ms=None) if group.config.on_lost_reader is OnLostReader.HOLD else None
    if reported.park_ms is None:
        return reported
    return replace(reported, park_ms=max(lease_ends(old, group.config) - now.ms, group.config.lease_ms))


def without_readers(group: Group, keys: Iterable[ReaderKey]) -> Group:
    """Return the group without these readers. Their next registrations get higher epochs."""
    gone = {key: group.readers[key] for key in keys}
    if not gone:
        return group
    highest = max(reader.epoch for reader in gone.values())
    return replace(group, readers=group.readers.updated(dict.fromkeys(gone)), left_epoch=max(group.left_epoch, highest))


def with_heard(
    group: Group, changes: Mapping[ReaderKey, Reader | None], now_ms: int, counting: AbstractSet[str] = frozenset()
) -> Group:
    """Return the group with `changes` to its readers, made by readers' commands at `now_ms`.

    A change to None removes the reader. `counting` names the sources with a new report that counts.
    """
    return replace(
        group,
        readers=group.readers.updated(changes),
        heard_at=now_ms if group.heard_at is None else max(group.heard_at, now_ms),
        started=group.started or bool(counting),
        sources_seen=_seen_with(group, counting) if counting else group.sources_seen,
    )


def _seen_with(group: Group, counting: AbstractSet[str]) -> frozenset[str]:
    """Return the expected sources that have reported, with `counting`. O(1) if all are known."""
    expected, seen = group.config.expected_sources, group.sources_seen
    if len(seen) >= len(expected):
        return seen
    unseen = counting - seen
    new = (
        unseen & set(expected)
        if len(unseen) > SOURCES_SEARCHED
        else {source for source in unseen if source in expected}
    )
    return seen | new if new else seen
