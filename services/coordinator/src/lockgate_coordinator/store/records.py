"""A group as text: one record for the head, and one for each reader. So a report writes two
records, however large the group.

A record is a JSON object of a value's own fields. A coordinator of another release can read it, and
keeps what it does not know (`formats`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from operator import attrgetter
from typing import Any, Final, get_type_hints

import msgspec

from lockgate.group.group import Group
from lockgate.group.reader import Reader
from lockgate.group.readers import Readers
from lockgate_coordinator.store.formats import FORMAT, Newer, check, needs_of, put_back, unknown


def _fields(kind: type[Any], without: tuple[str, ...]) -> list[Any]:
    """Return the fields of a dataclass for `msgspec.defstruct`: name, type and default, if any."""
    types = get_type_hints(kind)
    kept = [each for each in fields(kind) if each.name not in without]
    return [(each.name, types[each.name], *(() if each.default is MISSING else (each.default,))) for each in kept]


_FIELDS: Final = _fields(Group, without=("name", "readers"))
_HEAD: Final = tuple(each[0] for each in _FIELDS)
_Head: Final = msgspec.defstruct("_Head", [*_FIELDS, ("format", int, 0), ("needs", int, 0)])
_head_values: Final = attrgetter(*_HEAD)
_formats: Final = attrgetter("format", "needs")
_NO_MORE: Final = b',"unknown":null}'

_pack: Final = msgspec.msgpack.Encoder().encode
_encode: Final = msgspec.json.Encoder().encode
_decode_reader: Final = msgspec.json.Decoder(Reader).decode
_decode_head: Final = msgspec.json.Decoder(_Head).decode
_decode: Final = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class GroupHead:
    """A group without its readers. `newer`: what a newer coordinator has written, if one has."""

    fields: Mapping[str, Any]
    newer: Newer | None

    def group(self, name: str, readers: Readers) -> Group:
        return Group(name=name, readers=readers, **self.fields)


def head_to_text(group: Group, newer: Newer | None = None) -> str:
    """Return the record of the head, with what a newer coordinator has written."""
    if newer is None:
        return _encode(_Head(*_head_values(group), FORMAT, needs_of(group))).decode()
    record = _decode(_encode(_Head(*_head_values(group), newer.format, max(newer.needs, needs_of(group)))))
    put_back(record, newer.head)
    return _encode(record).decode()


def head_from_text(name: str, text: str) -> GroupHead:
    """Raise `StoreUnavailable` where this release must not touch the group."""
    try:
        values = _decode_head(text)
    except msgspec.ValidationError:
        check(name, _decode(text).get("needs", 0))
        raise
    written, needs = _formats(values)
    check(name, needs)
    newer = None if written <= FORMAT else Newer(written, needs, unknown("head", _decode(text)))
    return GroupHead({field: getattr(values, field) for field in _HEAD}, newer)


def reader_to_text(reader: Reader) -> str:
    """All known fields are written, even those with their default: decoding is faster when none is
    missing.
    """
    if reader.unknown is None:
        return _encode(reader)[: -len(_NO_MORE)].decode() + "}"
    values = _decode(_encode(replace(reader, unknown=None)))
    del values["unknown"]
    put_back(values, reader.unknown)
    return _encode(values).decode()


def reader_from_text(text: str, *, newer: bool = False) -> Reader:
    """`newer`: the record may have fields that are not known here."""
    reader = _decode_reader(text)
    more = unknown("reader", _decode(text)) if newer else None
    return replace(reader, unknown=more) if more else reader


def packed(words: Sequence[str]) -> bytes:
    """Many words as one, for a script to unpack, which is much faster than as many arguments."""
    return _pack(words)
