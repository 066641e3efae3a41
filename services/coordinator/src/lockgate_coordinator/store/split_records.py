"""The records of a group's enumerators in Redis.

Each enumerator has one record of its own values, one of the splits without a reader, and one for
each reader. So an exchange writes two small records, however many splits the source has.

The enumerators of a group share one head, which names the format. A coordinator refuses enumerators
of a newer format than its own, because it could assign a split to two readers if it misread them.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec

from lockgate.enumerator.model import Enumerator, FreeSplit, OwnedSplit, ReaderId, SplitOwner
from lockgate.steps import Steps, for_each
from lockgate_coordinator.store import keys
from lockgate_coordinator.store.base import LoadedSplits
from lockgate_coordinator.store.records import FORMAT, RecordForm, check_format, encode
from lockgate_coordinator.store.states import Records

T = TypeVar("T")

RECORDS_AT_ONCE: Final = 50
"""The number of readers that are compared and encoded in one step. Each may have several splits."""

Sources = Mapping[str, Enumerator]
"""The enumerators of a group, by source."""

Key = tuple[str, "str | ReaderId"]
"""A source, and `OWN`, `LISTS` or the id of a reader, which names one of the source's records."""

OWN, LISTS = "s", "l"

SOURCE: Final = RecordForm(Enumerator, ("readers", "free", "finished"))
READER: Final = RecordForm(SplitOwner, ("held",), held=dict[str, msgspec.Raw])


class _Lists(msgspec.Struct):
    """The record of a source's splits without a reader, by id."""

    free: Mapping[str, Any]
    finished: Mapping[str, Any]


class _Head(msgspec.Struct):
    format: int


_head_from: Final = msgspec.json.Decoder(_Head).decode
_lists_from: Final = msgspec.json.Decoder(dict[str, dict[str, msgspec.Raw]]).decode
_owned_from: Final = msgspec.json.Decoder(OwnedSplit).decode
_free_from: Final = msgspec.json.Decoder(FreeSplit).decode


class SplitRecords(Records[Sources, LoadedSplits]):
    """The encoding of a group's enumerators as records."""

    of, part = " of its splits", " splits"  # no group's name has a blank
    scripts = ("since_version", "with_group", "commit")
    state = LoadedSplits
    nothing: Sources = MappingProxyType({})

    def keys(self, group: str) -> tuple[str, ...]:
        return *keys.of_group(group, keys.SPLITS), keys.state(group)

    def head(self, value: Sources) -> str:
        return encode(_Head(FORMAT)).decode()

    def head_from(self, name: str, text: str) -> _Head:
        head = _head_from(text)
        check_format(name, head.format)
        return head

    def key(self, field: str) -> Key:
        _, kind, source = field.split(":", 2)  # a source's name may contain colons
        if kind in (OWN, LISTS):
            return source, kind
        subtask, epoch = kind.split("/")
        return source, (int(subtask), int(epoch))

    def record_from(self, key: Key, text: str) -> Steps[Any]:
        if key[1] == OWN:
            return SOURCE.decode(text)
        if key[1] == LISTS:
            lists = _lists_from(text)
            free = yield from _each(lists["free"], _free_from)
            return _Lists(free, (yield from _each(lists["finished"], _free_from)))
        reader = READER.decode(text)
        return SplitOwner(**READER.values(reader), held=(yield from _each(reader.held, _owned_from)))

    def changed(self, before: Sources, after: Sources) -> Steps[tuple[list[str], list[str]]]:
        removed, written = list[str](), list[str]()
        for source in {**before, **after}:
            was, now = before.get(source), after.get(source)
            if was is now:
                continue
            old, new = _records(source, was), _records(source, now)
            removed += old.keys() - new.keys()
            for number, (field, record) in enumerate(new.items(), 1):
                if field not in old or (old[field] is not record and old[field] != record):
                    written += (field, encode(record).decode())
                if not number % RECORDS_AT_ONCE:
                    yield
        return removed, written

    def updated(self, name: str, before: Sources, head: Any, changes: Mapping[Key, Any]) -> Steps[Sources]:
        yield from ()
        by_source = dict[str, dict[Any, Any]]()
        for (source, kind), record in changes.items():
            by_source.setdefault(source, {})[kind] = record
        found = dict(before)
        for source, records in by_source.items():
            was = before.get(source)
            own = records.pop(OWN, was)
            lists = records.pop(LISTS, was) or _Lists({}, {})
            readers = {} if was is None else {**was.readers}
            for id, reader in records.items():
                if reader is None:
                    readers.pop(id, None)
                else:
                    readers[id] = reader
            if own is None:
                found.pop(source, None)
            else:
                values = SOURCE.values(own)
                found[source] = Enumerator(**values, free=lists.free, finished=lists.finished, readers=readers)
        return found


def _records(source: str, enumerator: Enumerator | None) -> dict[str, Any]:
    """Return the records of a source by their fields in Redis. Without an enumerator, return {}."""
    if enumerator is None:
        return {}
    return {
        f"r:{OWN}:{source}": SOURCE.record(*SOURCE.of(enumerator)),
        f"r:{LISTS}:{source}": _Lists(enumerator.free, enumerator.finished),
        **{f"r:{subtask}/{epoch}:{source}": each for (subtask, epoch), each in enumerator.readers.items()},
    }


def _each(texts: Mapping[str, msgspec.Raw], decode: Callable[[msgspec.Raw], T]) -> Steps[dict[str, T]]:
    found = dict[str, T]()
    yield from for_each(texts, lambda id: found.__setitem__(id, decode(texts[id])))
    return found
