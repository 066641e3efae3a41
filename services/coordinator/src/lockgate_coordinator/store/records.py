"""A group as text: one record for the head, one for each reader, so that a report writes two short records however large the group.

A record is a JSON object of a value's own fields, without those that have their default. So it stays short, and a replica of another
version reads it: a field that it lacks has its default, and one that it does not know is left out.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final, get_type_hints

import msgspec

from lockgate.group import Group
from lockgate.readers import Reader, Readers

_ABSENT: Final = object()


def _defaults(kind: type[Any]) -> dict[str, Any]:
    """The fields of a dataclass, each with its default."""
    found = {}
    for field in dataclasses.fields(kind):
        made = field.default_factory() if field.default_factory is not dataclasses.MISSING else _ABSENT
        found[field.name] = field.default if field.default is not dataclasses.MISSING else made
    return found


_READER: Final = _defaults(Reader)
_HEAD: Final = {name: default for name, default in _defaults(Group).items() if name not in ("name", "readers")}
_HEAD_TYPES: Final = get_type_hints(Group)
_Head: Final = msgspec.defstruct(
    "_Head",
    [(name, _HEAD_TYPES[name]) if default is _ABSENT else (name, _HEAD_TYPES[name], default) for name, default in _HEAD.items()],
    kw_only=True,
)

_pack: Final = msgspec.msgpack.Encoder().encode
_encode: Final = msgspec.json.Encoder().encode
_decode_reader: Final = msgspec.json.Decoder(Reader).decode
_decode_head: Final = msgspec.json.Decoder(_Head).decode


def head_to_text(group: Group) -> str:
    return _record(group, _HEAD)


def reader_to_text(reader: Reader) -> str:
    return _record(reader, _READER)


def reader_from_text(text: str) -> Reader:
    return _decode_reader(text)


def group_from_text(name: str, head: str, readers: Readers) -> Group:
    values = _decode_head(head)
    return Group(name=name, readers=readers, **{field: getattr(values, field) for field in _HEAD})


def packed(words: Sequence[str]) -> bytes:
    """Many words as one, for a script to unpack: that is much quicker than as many arguments."""
    return _pack(words)


def _record(value: object, defaults: Mapping[str, Any]) -> str:
    return _encode({name: found for name, default in defaults.items() if (found := getattr(value, name)) != default}).decode()
