"""Decoding, checking and encoding the JSON of every message, by the types of its fields.

A misread message is worse than a refused one. `{"epoch": true}` is not epoch 1. `{"watermark":
1.0}` was a double, and may have lost its last digits. So each field is checked for its exact type
and range, and nothing is converted. One `InvalidMessage` carries the first faults of a message, and
the number of the others. A message with very many faults is not read to its end.

Unknown fields are ignored, so that either side may be the newer one. In a message that is `CLOSED`
they are faults. A field with a default may be absent, and one that may be None may also be null.
All fields are written, as null if they are None.
"""

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from types import NoneType
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin, get_type_hints

from lockgate.errors import InvalidMessage, InvalidValue
from lockgate.watermark import MAX, MIN
from lockgate.wire.fields import Json, JsonForm, Meta, Required

T = TypeVar("T")

FAULTS_LISTED = 20
"""The maximum number of faults that an error lists. It counts the others."""

FAULTS_COUNTED = 1_000
"""The number of faults after which the rest of a message is not read."""

_PATH_LIMIT = 100  # characters of a field's path in a fault

Path = tuple[Any, str] | None
"""A value's place in a message: the path of the object or list around it, and the last step."""


def from_json(kind: type[T], value: object) -> T:
    """Return the message of the class `kind` in parsed JSON, or raise `InvalidMessage`."""
    faults = Faults()
    made: T = shape_of(kind).read(value, None, faults)
    faults.finish()
    return made


def to_json(message: object) -> Json:
    """Return the message as a dict for a JSON library, which has to keep 64-bit integers exact."""
    return shape_of(type(message)).write(message)


def check(message: object) -> None:
    """Raise `InvalidValue` for the first invalid field of a message that this process builds."""
    faults = Faults()
    for field in shape_of(type(message)).fields:
        value = getattr(message, field.name)
        if value is field.default or (value is None and field.may_be_none):
            continue
        field.shape.read(value, None, faults)
        if faults.count:
            raise InvalidValue(field.name, f"{faults.listed[0][1]}, not {value!r}")


class Faults:
    def __init__(self) -> None:
        self.listed: list[tuple[str, str]] = []
        self.count = 0

    def note(self, path: Path, detail: str) -> None:
        """Record one fault. Raises `InvalidMessage` once `FAULTS_COUNTED` are recorded."""
        self.count += 1
        if len(self.listed) < FAULTS_LISTED:
            self.listed.append((_text(path), detail))
        if self.count >= FAULTS_COUNTED:
            self.finish()

    def wrong(self, path: Path, value: object, expected: str) -> None:
        self.note(path, f"must be {expected}, not {_KINDS.get(type(value), type(value).__name__)}")

    def finish(self) -> None:
        """Raise `InvalidMessage` if faults have been recorded."""
        if self.count:
            raise InvalidMessage(self.listed, self.count - len(self.listed))


class Shape:
    """The decoder and encoder of one type of values."""

    def read(self, value: object, path: Path, faults: Faults) -> Any:
        """Return `value`, decoded from JSON, or add its faults to `faults`, under `path`. If there
        are faults, the result must not be used.
        """
        raise NotImplementedError

    def write(self, value: Any) -> Any:
        """Return a value as a JSON library expects it."""
        return value


@dataclass(frozen=True, slots=True)
class Whole(Shape):
    """A whole number within `low` and `high`, both included."""

    low: int
    high: int
    description: str

    def read(self, value: object, path: Path, faults: Faults) -> Any:
        if type(value) is not int:
            return faults.wrong(path, value, "an integer")
        return value if self.low <= value <= self.high else faults.note(path, self.rule())

    def rule(self) -> str:
        """Return the range as text. The 64-bit limits are named without their figures."""
        if self.high < MAX:
            return f"must be {self.low} to {self.high}"
        return "must fit into 64 bits" if self.low == MIN else f"must be {self.low} or more, and fit into 64 bits"


@dataclass(frozen=True, slots=True)
class Number(Shape):
    def read(self, value: object, path: Path, faults: Faults) -> Any:
        return value if type(value) in (int, float) else faults.wrong(path, value, "a number")


@dataclass(frozen=True, slots=True)
class Flag(Shape):
    def read(self, value: object, path: Path, faults: Faults) -> Any:
        return value if type(value) is bool else faults.wrong(path, value, "true or false")


@dataclass(frozen=True, slots=True)
class Text(Shape):
    """A string of `least` to `most` characters. `rule` describes pattern and length in errors."""

    least: int = 0
    most: int = MAX
    pattern: re.Pattern[str] | None = None
    rule: str = ""

    def holds(self, value: str) -> bool:
        return (
            self.least <= len(value) <= self.most
            and (self.pattern is None or self.pattern.match(value) is not None)
            and _is_text(value)
        )

    def read(self, value: object, path: Path, faults: Faults) -> Any:
        if not isinstance(value, str):
            return faults.wrong(path, value, "a name" if self.rule else "a string")
        if self.holds(value):
            return value
        if self.rule or not _is_text(value):
            return faults.note(path, self.rule or "must have no characters that UTF-8 cannot carry")
        bounds = f"{self.least} to {self.most} characters" if self.least else f"{self.most} characters at most"
        return faults.note(path, f"must have {bounds}, not {len(value)}")


@dataclass(frozen=True, slots=True)
class Choice(Shape):
    members: Mapping[str, Enum]

    def read(self, value: object, path: Path, faults: Faults) -> Any:
        if isinstance(value, str) and value in self.members:
            return self.members[value]
        return faults.note(path, f"must be one of {', '.join(self.members)}")

    def write(self, value: Any) -> object:
        return value.value


@dataclass(frozen=True, slots=True)
class Formed(Shape):
    """A value that `form` converts from JSON and back."""

    form: JsonForm

    def read(self, value: object, path: Path, faults: Faults) -> Any:
        try:
            return self.form.read(value)
        except InvalidValue as error:
            named = path is not None and path[1] == f".{error.field}"
            return faults.note(path, error.expectation if named else str(error))

    def write(self, value: Any) -> object:
        return self.form.write(value)


@dataclass(frozen=True, slots=True)
class Items(Shape):
    """A list of at most `most` items, or of any number if `most` is None."""

    item: Shape
    most: int | None

    def read(self, value: object, path: Path, faults: Faults) -> Any:
        if not isinstance(value, (list, tuple)):
            return faults.wrong(path, value, "a list")
        if self.most is not None and len(value) > self.most:
            return faults.note(path, f"must have at most {self.most} items, not {len(value)}")
        return tuple(self.item.read(each, (path, f"[{index}]"), faults) for index, each in enumerate(value))

    def write(self, value: Any) -> list[Any]:
        return list(map(self.item.write, value))


@dataclass(frozen=True, slots=True)
class ByName(Shape):
    """A map from names, or other strings, to values of one type."""

    key: Text
    item: Shape

    def read(self, value: object, path: Path, faults: Faults) -> Any:
        if not isinstance(value, Mapping):
            return faults.wrong(path, value, "a map of names to objects" if self.key.rule else "a map of strings")
        made = dict[str, Any]()
        for name, each in value.items():
            at = (path, f".{name}")
            if not self.key.holds(name):
                faults.note(at, f"the name {self.key.rule}" if self.key.rule else "has a name that UTF-8 cannot carry")
            made[name] = self.item.read(each, at, faults)
        return made

    def write(self, value: Any) -> Json:
        return {name: self.item.write(each) for name, each in value.items()}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message. `default` is MISSING if the field is required. `step` is the last
    step of a `Path` to the field.
    """

    name: str
    shape: Shape
    may_be_none: bool
    default: Any
    step: str


@dataclass(frozen=True, slots=True)
class Message(Shape):
    """An object, decoded to the class `kind`. If it is `closed`, an unknown field is a fault."""

    kind: type[Any]
    fields: tuple[Field, ...]
    closed: bool

    def read(self, value: object, path: Path, faults: Faults) -> Any:
        if not isinstance(value, Mapping):
            return faults.wrong(path, value, "an object")
        before, made = faults.count, dict[str, Any]()
        for field in self.fields:
            found = value.get(field.name, MISSING)
            if found is MISSING:
                if field.default is MISSING:
                    faults.note((path, field.step), "is missing")
            elif found is None and field.may_be_none:
                made[field.name] = None
            else:
                made[field.name] = field.shape.read(found, (path, field.step), faults)
        if self.closed:
            known = sorted(field.name for field in self.fields)
            for name in (name for name in value if name not in known):
                faults.note((path, f".{name}"), f"is unknown; the known fields are {', '.join(known)}")
        if faults.count > before:
            return None
        try:
            return self.kind(**made)
        except InvalidValue as error:  # a rule of several fields
            return faults.note((path, f".{error.field}"), error.expectation)

    def write(self, value: Any) -> Json:
        values = [(field, getattr(value, field.name)) for field in self.fields]
        return {field.name: None if found is None else field.shape.write(found) for field, found in values}


_shapes: dict[type[Any], Message] = {}


def shape_of(kind: type[Any]) -> Message:
    """Return the shape of a message's class, built from the types of its fields, and cache it."""
    if kind in _shapes:
        return _shapes[kind]
    hints = get_type_hints(kind, include_extras=True)
    found = list[Field]()
    for each in fields(kind):
        default = each.default if each.default_factory is MISSING else each.default_factory()
        if Required in get_args(hints[each.name]):
            default = MISSING
        options = [part for part in get_args(hints[each.name]) if part is not NoneType]
        may_be_none = NoneType in get_args(hints[each.name])
        shape = _shape(options[0] if may_be_none else hints[each.name])
        found.append(Field(each.name, shape, may_be_none, default, f".{each.name}"))
    _shapes[kind] = Message(kind, tuple(found), getattr(kind, "CLOSED", False))
    return _shapes[kind]


def _shape(hint: Any) -> Shape:
    base, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    for extra in extras:
        if isinstance(extra, JsonForm):
            return Formed(extra)
    meta = next((extra for extra in extras if isinstance(extra, Meta)), Meta())
    origin, inner = get_origin(base), get_args(base)
    if base is int:
        low, high = (MIN if meta.ge is None else int(meta.ge)), (MAX if meta.le is None else int(meta.le))
        return Whole(low, high, meta.description or "")
    if base is float:
        return Number()
    if base is bool:
        return Flag()
    if base is str:
        pattern = None if meta.pattern is None else re.compile(meta.pattern)
        return Text(meta.min_length or 0, meta.max_length or MAX, pattern, (meta.description or "") if pattern else "")
    if origin is tuple:
        return Items(_shape(inner[0]), meta.max_length)
    if origin is Mapping:
        key = _shape(inner[0])
        assert isinstance(key, Text)
        return ByName(key, _shape(inner[1]))
    if is_dataclass(base) and isinstance(base, type):
        return shape_of(base)
    assert issubclass(base, Enum), f"no field of a message may be {hint}"
    return Choice({member.value: member for member in base})


def _is_text(value: str) -> bool:
    """Return whether UTF-8 can encode the string. It cannot encode a lone surrogate."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(path: Path) -> str:
    steps = list[str]()
    while path is not None:
        path, step = path
        steps.append(step)
    text = "".join(reversed(steps)).removeprefix(".") or "body"
    return text if len(text) <= _PATH_LIMIT else f"{text[:_PATH_LIMIT]}…"


_KINDS: Final[Mapping[type, str]] = {
    NoneType: "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number with a fraction or an exponent",
    str: "a string",
    list: "a list",
    dict: "an object",
}
