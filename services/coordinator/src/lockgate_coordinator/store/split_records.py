"""The enumerators of a group as text: for each source one record of its own values, one of the
splits that nobody holds, and one for each reader. So an exchange writes two small records, however
many splits the source has.

A split is Flink's bytes (`SERIALIZER_VERSION`) in base64. The head of all of them has the format.
A coordinator refuses the enumerators of a group whose format is newer than its own, and only these:
a half understood assignment would give a split to two readers.
"""

import dataclasses
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, Final

import msgspec

from lockgate.enumerator.model import Enumerator, FreeSplit, OwnedSplit, ReaderId, SplitOwner
from lockgate.errors import InvalidValue
from lockgate.flink.split_serializer import KafkaPartitionSplitSerializer
from lockgate.steps import Steps, for_each
from lockgate_coordinator.store.base import UnreadableGroup

FORMAT: Final = 1
"""The format of the records of splits: raised with each change."""

_SERIALIZER: Final = KafkaPartitionSplitSerializer()
SERIALIZER_VERSION: Final = _SERIALIZER.version

REMEDY: Final = "Delete the group (`lockgate delete`), and its readers present what they hold"

READERS_AT_ONCE: Final = 50
"""How many are compared and written in one step. Each may have some splits."""

Sources = Mapping[str, Enumerator]
"""The enumerators of a group, by source."""

_Held = tuple[str, int, int]


def _values(kind: type[Any], without: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind) if each.name not in without)


SOURCE_VALUES: Final = _values(Enumerator, ("readers", "free", "finished"))
READER_VALUES: Final = _values(SplitOwner, ("held",))
_source_values: Final = attrgetter(*SOURCE_VALUES)
_reader_values: Final = attrgetter(*READER_VALUES)


class _Free(msgspec.Struct, array_like=True):
    """A split that nobody holds."""

    split: str
    number: int
    last: int | None
    watermark: int | None


class _Lists(msgspec.Struct):
    """The splits that nobody holds."""

    free: list[_Free]
    finished: list[_Free]


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode
_decode_lists: Final = msgspec.json.Decoder(_Lists).decode


@dataclass(slots=True)
class Records:
    """Records as they are read, field by field. `enumerators` makes the values of them."""

    name: str
    sources: dict[str, Enumerator] = dataclasses.field(default_factory=dict)
    lists: dict[str, tuple[Mapping[str, FreeSplit], Mapping[str, FreeSplit]]] = dataclasses.field(default_factory=dict)
    readers: dict[str, dict[ReaderId, SplitOwner]] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, name: str, sources: Sources) -> "Records":
        """Return the records of these values."""
        return cls(
            name,
            dict(sources),
            {source: (each.free, each.finished) for source, each in sources.items()},
            {source: dict(each.readers) for source, each in sources.items()},
        )

    def copy(self) -> "Records":
        """Return the same records, to change."""
        readers = {source: dict(each) for source, each in self.readers.items()}
        return Records(self.name, dict(self.sources), dict(self.lists), readers)

    def take(self, field: str, text: str | None) -> Steps[None]:
        """One record; None: it is gone. Raises `UnreadableGroup`."""
        try:
            kind, source, id = _parsed(field)
            if kind == "s":
                _put(self.sources, source, None if text is None else _source(text))
            elif kind == "l":
                _put(self.lists, source, None if text is None else (yield from _lists(text)))
            else:
                _put(self.readers.setdefault(source, {}), id, None if text is None else (yield from _reader(text)))
        except (msgspec.MsgspecError, InvalidValue, ValueError, TypeError, KeyError) as error:
            raise unreadable(self.name, f"the record {field[:300]!r} of its splits is damaged ({error})") from error

    def enumerators(self) -> dict[str, Enumerator]:
        """Return the values. A source is there if its own record is."""
        found = dict[str, Enumerator]()
        for source, values in self.sources.items():
            free, finished = self.lists.get(source, ({}, {}))
            found[source] = replace(values, free=free, finished=finished, readers=dict(self.readers.get(source, {})))
        return found


def unreadable(name: str, reason: str) -> UnreadableGroup:
    return UnreadableGroup(name, reason, REMEDY)


def head() -> str:
    return _encode({"format": FORMAT}).decode()


def check_head(name: str, text: str) -> None:
    """Raise `UnreadableGroup` for records of a newer release."""
    try:
        written = int(_decode(text)["format"])
    except (msgspec.MsgspecError, ValueError, TypeError, KeyError) as error:
        raise unreadable(name, f"the head of its splits is damaged ({error})") from error
    if written > FORMAT:
        raise UnreadableGroup(
            name,
            f"its splits were written by a newer coordinator, in format {written}, and this one supports {FORMAT}",
            "Upgrade this coordinator to the newer release",
        )


def changed(before: Sources, after: Sources) -> Steps[tuple[list[str], list[str]]]:
    """Return the fields that are gone, and field and record of each that is another one, in
    turn.
    """
    removed, written = list[str](), list[str]()
    for source in before.keys() - after.keys():
        removed += [field for field, _ in _fields(source, before[source])]
    for source, now in after.items():
        was = before.get(source)
        if was is now:
            continue
        old = {} if was is None else dict(_fields(source, was))
        for number, (field, value) in enumerate(_fields(source, now), 1):
            if field not in old or (old[field] is not value and old[field] != value):
                written += (field, (yield from _text(value)))
            old.pop(field, None)
            if not number % READERS_AT_ONCE:
                yield
        removed += old
    return removed, written


def _fields(source: str, enumerator: Enumerator) -> Iterator[tuple[str, Any]]:
    yield f"r:s:{source}", _source_values(enumerator)
    yield f"r:l:{source}", _Nobodys(enumerator.free, enumerator.finished)
    for (subtask, epoch), reader in enumerator.readers.items():
        yield f"r:{subtask}/{epoch}:{source}", reader


@dataclass(frozen=True, slots=True)
class _Nobodys:
    """The splits in no reader's hands. Two are equal where both maps are the same objects: nothing
    else is quick to see.
    """

    free: Mapping[str, FreeSplit]
    finished: Mapping[str, FreeSplit]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Nobodys) and self.free is other.free and self.finished is other.finished

    def __hash__(self) -> int:
        return hash((id(self.free), id(self.finished)))


def _text(value: Any) -> Steps[str]:
    if isinstance(value, SplitOwner):
        held = list[_Held]()
        yield from for_each(
            value.held.values(), lambda each: held.append((_bytes(each.split), each.number, each.since))
        )
        return _encode({**dict(zip(READER_VALUES, _reader_values(value), strict=True)), "held": held}).decode()
    if isinstance(value, _Nobodys):
        return _encode(_Lists((yield from _free_texts(value.free)), (yield from _free_texts(value.finished)))).decode()
    return _encode(dict(zip(SOURCE_VALUES, value, strict=True))).decode()


def _free_texts(splits: Mapping[str, FreeSplit]) -> Steps[list[_Free]]:
    texts = list[_Free]()
    yield from for_each(
        splits.values(), lambda each: texts.append(_Free(_bytes(each.split), each.number, each.last, each.watermark))
    )
    return texts


def _bytes(split: Any) -> str:
    return b64encode(_SERIALIZER.serialize(split)).decode()


def _split(text: str) -> Any:
    return _SERIALIZER.deserialize(SERIALIZER_VERSION, b64decode(text))


def _source(text: str) -> Enumerator:
    return msgspec.convert(_decode(text), Enumerator)


def _reader(text: str) -> Steps[SplitOwner]:
    values, held = _decode(text), dict[str, OwnedSplit]()

    def take(each: _Held) -> None:
        data, number, since = each
        split = _split(data)
        held[split.split_id] = OwnedSplit(split=split, number=number, since=since)

    yield from for_each(msgspec.convert(values.pop("held"), list[_Held]), take)
    return replace(msgspec.convert({**values, "held": {}}, SplitOwner), held=held)


def _lists(text: str) -> Steps[tuple[dict[str, FreeSplit], dict[str, FreeSplit]]]:
    lists = _decode_lists(text)
    return (yield from _free(lists.free)), (yield from _free(lists.finished))


def _free(items: list[_Free]) -> Steps[dict[str, FreeSplit]]:
    found = dict[str, FreeSplit]()

    def take(each: _Free) -> None:
        split = _split(each.split)
        found[split.split_id] = FreeSplit(split=split, number=each.number, last=each.last, watermark=each.watermark)

    yield from for_each(items, take)
    return found


def _parsed(field: str) -> tuple[str, str, ReaderId]:
    """Kind, source and reader of a field. A source's name may contain colons."""
    _, kind, source = field.split(":", 2)
    if kind in ("s", "l"):
        return kind, source, (0, 0)
    subtask, epoch = kind.split("/")
    return "r", source, (int(subtask), int(epoch))


def _put(into: dict[Any, Any], key: Any, value: Any) -> None:
    if value is None:
        into.pop(key, None)
    else:
        into[key] = value
