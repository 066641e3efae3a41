"""The splits of a source with their readers and positions, as JSON for operators."""

import json
from collections.abc import Mapping
from heapq import nsmallest

from lockgate.enumerator.answers import is_processing_backlog
from lockgate.enumerator.leases import is_over, lease_ends
from lockgate.enumerator.model import Enumerator, FreeSplit, OwnedSplit, ReaderId, SplitOwner
from lockgate.errors import UnknownSource
from lockgate.flink.splits import COMMITTED_OFFSET, EARLIEST_OFFSET, LATEST_OFFSET
from lockgate.group.group import Group
from lockgate.group.now import Now
from lockgate.wire.fields import Json
from lockgate_coordinator.service.inspection import with_iso

READERS_SHOWN = 1_000
SOURCES_SHOWN = 100

STATES = ("assigned", "revoking", "unassigned", "missing", "finished")
"""The states of a split. A reader has to give a `revoking` split back. An `unassigned` split has no
reader. A `missing` one has no reader either, and is not in the last list. A `finished` one has been
read to its end.
"""

WORDS = {LATEST_OFFSET: "latest", EARLIEST_OFFSET: "earliest", COMMITTED_OFFSET: "committed"}


def inspected_splits(
    group: Group, source: str, enumerator: Enumerator | None, now_ms: int, limit: int, after: str
) -> Json:
    """Return a page with the first `limit` splits of the source that have an id above `after`.
    Raises `UnknownSource` if the source has no enumerator.
    """
    if enumerator is None:
        raise UnknownSource(group.name, source)
    places = _places(enumerator, now_ms)
    page = nsmallest(limit + 1, (id for id in places if id > after))
    return {
        "group": group.name,
        "source": source,
        **with_iso("now", now_ms),
        "revision": enumerator.revision,
        "enumerator": _summary(enumerator, places, now_ms),
        "readers": _readers(enumerator, now_ms),
        "items": [_split(id, *places[id]) for id in page[:limit]],
        "next": page[limit - 1] if len(page) > limit else None,
    }


def counts(enumerator: Enumerator, now_ms: int) -> dict[str, int]:
    """Return the number of splits in each state, in O(readers) time if no split is missing."""
    living = [each for each in enumerator.readers.values() if not is_over(each, Now(now_ms))]
    revoking, held = sum(len(each.revoked) for each in living), sum(len(each.held) for each in living)
    inside = sum(len(enumerator.missing.intersection(each.held)) for each in living if enumerator.missing)
    nobodys = enumerator.count() - held - len(enumerator.finished)
    missing = len(enumerator.missing) - inside
    return {
        "assigned": held - revoking,
        "revoking": revoking,
        "unassigned": nobodys - missing,
        "missing": missing,
        "finished": len(enumerator.finished),
    }


def summaries(sources: Mapping[str, Enumerator], now_ms: int) -> dict[str, dict[str, int]]:
    """Return the `counts` of each source, for the first `SOURCES_SHOWN` by name."""
    return {source: counts(sources[source], now_ms) for source in sorted(sources)[:SOURCES_SHOWN]}


_Place = tuple[str, ReaderId | None, OwnedSplit | FreeSplit]


def _places(enumerator: Enumerator, now_ms: int) -> dict[str, _Place]:
    """Return the state, the reader and the record of each split, by id. If a reader's lease has
    ended, its splits are shown as unassigned, although only the next exchange updates the store.
    """
    found = dict[str, _Place]()
    for id, finished in enumerator.finished.items():
        found[id] = ("finished", None, finished)
    for id, free in enumerator.free.items():
        found[id] = ("unassigned", None, free)
    for reader, each in enumerator.readers.items():
        over = is_over(each, Now(now_ms))
        for id, held in each.held.items():
            state = "unassigned" if over else "revoking" if id in each.revoked else "assigned"
            found[id] = (state, None if over else reader, held)
    for id in enumerator.missing:
        if id in found and found[id][0] == "unassigned":
            found[id] = ("missing", *found[id][1:])
    return found


def _summary(enumerator: Enumerator, places: dict[str, _Place], now_ms: int) -> Json:
    assigning_in_ms = max(0, enumerator.assigning_at - now_ms)
    return {
        "splits": len(places),
        **counts(enumerator, now_ms),
        "bounded": enumerator.bounded,
        "static": enumerator.static,
        **with_iso("discovered_at", enumerator.discovered_at),
        "discoverer": enumerator.discoverer,
        "assigning_in_ms": assigning_in_ms,
        "lost_history": enumerator.lost_history and (assigning_in_ms > 0 or not enumerator.listed),
        "is_processing_backlog": is_processing_backlog(enumerator),
        "source_events": [
            {"id": each.id, "subtask": each.subtask, **with_iso("at", each.at), "event": json.loads(each.text)}
            for each in enumerator.from_readers
        ],
    }


def _readers(enumerator: Enumerator, now_ms: int) -> list[Json]:
    newest = enumerator.newest()
    return [
        _reader(id, enumerator.readers[id], newest[id[0]] != id[1], now_ms)
        for id in sorted(enumerator.readers)[:READERS_SHOWN]
    ]


def _reader(id: ReaderId, reader: SplitOwner, fenced: bool, now_ms: int) -> Json:
    return {
        "subtask": id[0],
        "epoch": id[1],
        "capacity": reader.capacity,
        "splits": len(reader.held),
        "revoking": len(reader.revoked),
        "lease_left_ms": max(0, lease_ends(reader) - now_ms),
        "requests": reader.requests,
        "fenced": fenced,
        "discovers": reader.discovery_interval_ms is not None,
    }


def _split(id: str, state: str, reader: ReaderId | None, place: OwnedSplit | FreeSplit) -> Json:
    split = place.split
    return {
        "split": id,
        "topic": split.topic,
        "partition": split.partition,
        "position": _offset(split.starting_offset),
        "stopping_offset": None if split.stopping_offset is None else _offset(split.stopping_offset),
        "state": state,
        "subtask": None if reader is None else reader[0],
        "epoch": None if reader is None else reader[1],
        "assignment": place.number or None,
        **with_iso("since", place.since if isinstance(place, OwnedSplit) and reader is not None else None),
    }


def _offset(offset: int) -> int | str:
    """Return the offset, or `latest`, `earliest` or `committed` if it is not resolved yet."""
    return WORDS.get(offset, max(0, offset))
