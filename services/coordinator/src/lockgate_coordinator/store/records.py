"""A group as text: one record for the head, and one for each reader. So a report writes two
records, however large the group.

A record is a JSON object of a value's own fields. A coordinator of another version can read it: a
missing field gets its default, and an unknown one is ignored.
"""

from collections.abc import Sequence
from dataclasses import MISSING, fields
from operator import attrgetter
from typing import Any, Final, get_type_hints

import msgspec

from lockgate.group.group import Group
from lockgate.group.readers import Reader, Readers


def _fields(kind: type[Any], without: tuple[str, ...]) -> list[Any]:
    """The fields of a dataclass for `msgspec.defstruct`: name, type and default, if any."""
    types = get_type_hints(kind)
    kept = [each for each in fields(kind) if each.name not in without]
    return [(each.name, types[each.name], *(() if each.default is MISSING else (each.default,))) for each in kept]


_Head: Final = msgspec.defstruct("_Head", _fields(Group, without=("name", "readers")))
_HEAD: Final = _Head.__struct_fields__
_head_values: Final = attrgetter(*_HEAD)

_pack: Final = msgspec.msgpack.Encoder().encode
_encode: Final = msgspec.json.Encoder().encode
_decode_reader: Final = msgspec.json.Decoder(Reader).decode
_decode_head: Final = msgspec.json.Decoder(_Head).decode


def head_to_text(group: Group) -> str:
    return _encode(_Head(*_head_values(group))).decode()


def reader_to_text(reader: Reader) -> str:
    """All fields are written, even those with their default: decoding is faster when none is
    missing.
    """
    return _encode(reader).decode()


def reader_from_text(text: str) -> Reader:
    return _decode_reader(text)


def group_from_text(name: str, head: str, readers: Readers) -> Group:
    values = _decode_head(head)
    return Group(name=name, readers=readers, **{field: getattr(values, field) for field in _HEAD})


def packed(words: Sequence[str]) -> bytes:
    """Many words as one, for a script to unpack, which is much faster than as many arguments."""
    return _pack(words)
