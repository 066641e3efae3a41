"""The changes of a source's split assignments, found by comparing its enumerator before and after
an exchange.

All functions are pure. They visit all readers, but only the splits of readers that changed. If the
list of splits has changed, they visit all splits. Positions are not compared, because they move
with every exchange.
"""

from collections.abc import Iterable, Iterator, Mapping
from heapq import nsmallest

from lockgate.enumerator.model import Enumerator, OwnedSplit, ReaderId
from lockgate_coordinator.telemetry.changes import Change, Kind

NAMED = 8
"""The maximum number of splits that a change names. Its `count` is the number of all its splits."""


def split_changes(group: str, source: str, before: Enumerator | None, after: Enumerator) -> Iterator[Change]:
    """Yield the changes from `before`, which is None for a new enumerator, to `after`."""
    if after.lost_history and (before is None or not before.lost_history or before.began_at != after.began_at):
        reason = "the store has lost the assignments: it assigns nothing until readers have presented theirs"
        details = {"waits_ms": max(0, after.assigning_at - (after.heard_at or after.began_at))}
        yield Change(Kind.PARTITIONS_HISTORY_LOST, group, source, None, reason, details)
    if after.discovered_at is not None and (before is None or _list(before) != _list(after)):
        yield from _of_list(group, source, before, after)
    if before is not None and before.revision == after.revision:
        return
    readers: Mapping[ReaderId, object] = {} if before is None else before.readers
    for id in {**readers, **after.readers}:
        was, now = _held(before, id), _held(after, id)
        if was is now:
            continue
        gained = [each for each in now if each not in was or was[each].number != now[each].number]
        left = [each for each in was if each not in now]
        if gained:
            yield _change(Kind.PARTITIONS_ASSIGNED, group, source, id, "they are its share of the source", gained)
        finished = [each for each in left if each in after.finished]
        if finished:
            yield _change(Kind.PARTITIONS_FINISHED, group, source, id, "it has read them to their end", finished)
        freed = [each for each in left if each not in after.finished]
        if freed:
            reason = "it gave them back" if id in after.readers else "it has left, or its lease has expired"
            yield _change(Kind.PARTITIONS_FREED, group, source, id, reason, freed)


def _list(enumerator: Enumerator) -> tuple[frozenset[str], bool, bool, int]:
    return enumerator.missing, enumerator.bounded, enumerator.static, enumerator.count()


def _of_list(group: str, source: str, before: Enumerator | None, after: Enumerator) -> Iterator[Change]:
    known = set[str]() if before is None else set(before.ids())
    missing = after.missing - (frozenset() if before is None else before.missing)
    new = [each for each in after.ids() if each not in known]
    details = {
        "count": after.count(),
        "new": _named(new),
        "missing": _named(missing),
        "bounded": after.bounded,
        "static": after.static,
    }
    reason = "an operator listed them" if after.discoverer is None else "a reader listed them"
    if new or missing or before is None or not before.listed:
        yield Change(Kind.PARTITIONS_LISTED, group, source, after.discoverer, reason, details)


def _held(enumerator: Enumerator | None, id: ReaderId) -> Mapping[str, OwnedSplit]:
    reader = None if enumerator is None else enumerator.readers.get(id)
    return {} if reader is None else reader.held


def _change(kind: Kind, group: str, source: str, id: ReaderId, reason: str, splits: list[str]) -> Change:
    details = {"epoch": id[1], "count": len(splits), "partitions": _named(splits)}
    return Change(kind, group, source, id[0], reason, details)


def _named(splits: Iterable[str]) -> list[str]:
    return nsmallest(NAMED, splits)
