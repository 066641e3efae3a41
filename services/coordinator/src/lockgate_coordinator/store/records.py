"""A group as text: one record for the head, and one for each reader. So a report writes two
records, however large the group.

A reader's record is a JSON array of its values, in the order of its fields; the head's is an object
of the group's other fields, and names the format of all records. A
coordinator neither reads nor writes a group whose format is newer than its own: it answers 503 with
the remedy, nothing is erased, and clients wait at their last ceiling. So two releases of one format
may share a Redis.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from operator import attrgetter
from typing import Any, Final, get_type_hints

import msgspec

from lockgate.group.group import Group
from lockgate.group.reader import Reader
from lockgate.group.readers import Readers
from lockgate_coordinator.store.base import UnreadableGroup

FORMAT: Final = 1
"""The format of a group's records. A release that changes their fields raises it."""


def _fields(kind: type[Any], without: tuple[str, ...]) -> list[Any]:
    """Return the fields of a dataclass for `msgspec.defstruct`: name, type and default, if any."""
    types = get_type_hints(kind)
    kept = [each for each in fields(kind) if each.name not in without]
    return [(each.name, types[each.name], *(() if each.default is MISSING else (each.default,))) for each in kept]


_FIELDS: Final = _fields(Group, without=("name", "readers"))
_HEAD: Final = tuple(each[0] for each in _FIELDS)
_Head: Final = msgspec.defstruct("_Head", [*_FIELDS, ("format", int, 0)])
_head_values: Final = attrgetter(*_HEAD)
_format: Final = attrgetter("format")

_pack: Final = msgspec.msgpack.Encoder().encode
_encode: Final = msgspec.json.Encoder().encode
_decode_reader: Final = msgspec.json.Decoder(Reader).decode
_decode_head: Final = msgspec.json.Decoder(_Head).decode
_decode: Final = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class GroupHead:
    """A group without its readers."""

    fields: Mapping[str, Any]

    def group(self, name: str, readers: Readers) -> Group:
        return Group(name=name, readers=readers, **self.fields)


def head_to_text(group: Group) -> str:
    """Return the record of the head."""
    return _encode(_Head(*_head_values(group), FORMAT)).decode()


def head_from_text(name: str, text: str) -> GroupHead:
    """Raise `UnreadableGroup` for a group of a newer format."""
    try:
        values = _decode_head(text)
    except msgspec.ValidationError:
        _check_format(name, _decode(text).get("format", 0))
        raise
    _check_format(name, _format(values))
    return GroupHead({field: getattr(values, field) for field in _HEAD})


def reader_to_text(reader: Reader) -> str:
    return _encode(reader).decode()


def reader_from_text(text: str) -> Reader:
    return _decode_reader(text)


def _check_format(name: str, written: int) -> None:
    if written > FORMAT:
        raise UnreadableGroup(
            name,
            f"it was written by a newer coordinator: it needs format {written}, and this one supports {FORMAT}",
            "Upgrade this coordinator to the newer release",
        )


def packed(words: Sequence[str]) -> bytes:
    """Many words as one, for a script to unpack, which is much faster than as many arguments."""
    return _pack(words)
