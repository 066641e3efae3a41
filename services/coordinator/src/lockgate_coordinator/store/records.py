"""The records of a group in Redis: one for its head, and one for each reader.

A report writes two records, however large the group is.

The record of a reader is a JSON array of the fields of `Reader`, in their order. The head is a JSON
object with the other fields of `Group` and the format of all records. A coordinator neither reads
nor writes a group of a newer format than its own. It answers 503 with the remedy, and clients read
nothing above the last read limit that they received. Releases with the same format may share a
Redis.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final, get_type_hints

import msgspec

from lockgate.group.group import Group
from lockgate.group.reader import Reader, ReaderKey
from lockgate.group.readers import Readers
from lockgate.steps import ITEMS_OF_A_STEP, Steps, parts
from lockgate_coordinator.store import keys
from lockgate_coordinator.store.base import Loaded, UnreadableGroup
from lockgate_coordinator.store.states import Records

FORMAT: Final = 1
"""The format of the records of groups and splits. A release that changes their fields raises it."""

encode: Final = msgspec.json.Encoder().encode
reader_from: Final = msgspec.json.Decoder(Reader).decode
_decode: Final = msgspec.json.Decoder().decode


class RecordForm:
    """The form of records for the dataclass `kind`. A record contains the fields of `kind` except
    those in `without`, and the additional fields in `more`.
    """

    def __init__(self, kind: type[Any], without: tuple[str, ...], **more: Any) -> None:
        types = get_type_hints(kind)
        self.names = tuple(each.name for each in fields(kind) if each.name not in without)
        self.of = attrgetter(*self.names)
        self.record: Any = msgspec.defstruct(
            f"_{kind.__name__}", [(name, types[name]) for name in self.names] + list(more.items())
        )
        self.decode: Callable[[str], Any] = msgspec.json.Decoder(self.record).decode

    def values(self, record: Any) -> dict[str, Any]:
        """Return a record's values by field name, without those of the additional fields."""
        return dict(zip(self.names, self.of(record), strict=True))


HEAD: Final = RecordForm(Group, ("name", "readers"), format=int)


class GroupRecords(Records[Group | None, Loaded]):
    """The encoding of groups as records."""

    of, part = "", ""
    scripts = ("since_version", "commit")
    state = Loaded
    nothing = None

    def keys(self, group: str) -> tuple[str, ...]:
        return keys.of_group(group)

    def key(self, field: str) -> ReaderKey:
        return keys.reader_key(field)

    def head(self, value: Group | None) -> str:
        return encode(HEAD.record(*HEAD.of(value), FORMAT)).decode()

    def head_from(self, name: str, text: str) -> Any:
        try:
            head = HEAD.decode(text)
        except msgspec.ValidationError:
            check_format(name, _decode(text).get("format", 0))
            raise
        check_format(name, head.format)
        return head

    def record_from(self, key: ReaderKey, text: str) -> Steps[Reader]:
        yield from ()
        return reader_from(text)

    def changed(self, before: Group | None, after: Group | None) -> Steps[tuple[list[str], list[str]]]:
        assert after is not None
        removed, written = list[str](), list[str]()
        moved = after.readers.moved_since(Readers() if before is None else before.readers)
        for number, (key, _, reader) in enumerate(moved, 1):
            if reader is None:
                removed.append(keys.reader_field(key))
            else:
                written += (keys.reader_field(key), encode(reader).decode())
            if not number % ITEMS_OF_A_STEP:
                yield
        return removed, written

    def updated(
        self, name: str, before: Group | None, head: Any, changes: Mapping[ReaderKey, Reader | None]
    ) -> Steps[Group | None]:
        readers = Readers() if before is None else before.readers
        for number, some in enumerate(parts(list(changes.items()))):
            if number:
                yield
            readers = readers.updated(dict(some))
        return None if head is None else Group(name=name, readers=readers, **HEAD.values(head))


def check_format(name: str, written: int) -> None:
    """Raise `UnreadableGroup` if the format `written` in a record is newer than `FORMAT`."""
    if written > FORMAT:
        raise UnreadableGroup(
            name,
            f"it was written by a newer coordinator: it needs format {written}, and this one supports {FORMAT}",
            "Upgrade this coordinator to the newer release",
        )
