"""Reads one JSON object strictly, and names every fault.

A message that is half understood is worse than a refused one. `{"epoch": true}` is not epoch 1.
`{"watermark": 1.0}` has been a double, and may have lost its last digits. No time has more than 64
bits. So each field is checked for its exact type and range, and nothing is converted. One
`InvalidMessage` carries the first faults of a message, and how many more there are. A message with
very many faults is read no further.

Used by `codec`, and by the modules beside it that have a part of the JSON each.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, TypeVar

from lockgate.errors import InvalidMessage
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import NAME, NAME_RULE

E = TypeVar("E", bound=Enum)

Json = dict[str, Any]


class _Required:
    pass


REQUIRED: Final = _Required()


TOLD = 20
"""Faults of one message that are told; the others are counted."""

COUNTED = 1_000
"""Faults after which a message is read no further."""

_LONGEST = 100  # characters of a field's path in a fault


class Faults:
    """The faults of one message."""

    def __init__(self) -> None:
        self._told: list[tuple[str, str]] = []
        self._count = 0

    def __bool__(self) -> bool:
        return self._count > 0

    def note(self, field: str, detail: str) -> None:
        """Record one fault. Raises `InvalidMessage` if there are too many to read on."""
        self._count += 1
        if len(self._told) < TOLD:
            self._told.append((field if len(field) <= _LONGEST else f"{field[:_LONGEST]}…", detail))
        if self._count >= COUNTED:
            self.finish()

    def finish(self) -> None:
        """Raise `InvalidMessage`, if there are any."""
        if self._count:
            raise InvalidMessage(self._told, self._count - len(self._told))


def within(low: int, high: int = MAX) -> str:
    """Return the rule of a number for a person. The ends of 64 bits are no figures to read."""
    if high < MAX:
        return f"must be {low} to {high}"
    return "must fit into 64 bits" if low == MIN else f"must be {low} or more, and fit into 64 bits"


class Fields:
    """The fields of one JSON object. Each method takes one field. It notes a fault and returns a
    stand-in; `finish` raises if there was any fault. A method raises `InvalidMessage` itself where
    there are too many faults to read on.
    """

    def __init__(self, value: object, path: str = "", faults: Faults | None = None) -> None:
        self._path = path
        self._faults = Faults() if faults is None else faults
        self._taken: set[str] = set()
        self._values: Mapping[str, Any] = {}
        self._broken = not isinstance(value, Mapping)
        if isinstance(value, Mapping):
            self._values = value
        else:
            self._faults.note(path.rstrip(".") or "body", f"must be an object, not {_kind(value)}")

    def integer(self, key: str, *, default: int | _Required = REQUIRED, low: int = MIN, high: int = MAX) -> int:
        """Return a whole number within `low` and `high`, both included."""
        value = self._take(key, default)
        if type(value) is not int:
            self._wrong(key, value, "an integer")
        elif not low <= value <= high:
            self._fault(key, within(low, high))
        else:
            return value
        return 0

    def integer_or_none(self, key: str, *, low: int = MIN) -> int | None:
        """Return a whole number, or None where the field is absent or null."""
        if self._values.get(key) is None:
            self._taken.add(key)
            return None
        return self.integer(key, low=low)

    def boolean(self, key: str, *, default: bool) -> bool:
        value = self._take(key, default)
        if type(value) is not bool:
            self._wrong(key, value, "true or false")
            return default
        return value

    def text(self, key: str, *, default: str, most: int | None = None) -> str:
        """Return a string of `most` characters at the most; None: of any length."""
        value = self._take(key, default)
        if not is_text(value):
            self._wrong(key, value, "a string")
            return default
        if most is not None and len(value) > most:
            self._fault(key, f"must have {most} characters at most, not {len(value)}")
        return str(value)

    def name(self, key: str) -> str:
        value = self._take(key, REQUIRED)
        if type(value) is str and not NAME.match(value):
            self._fault(key, NAME_RULE)
        elif type(value) is not str:
            self._wrong(key, value, "a name")
        else:
            return value
        return ""

    def name_or_none(self, key: str) -> str | None:
        if self._values.get(key) is None:
            self._taken.add(key)
            return None
        return self.name(key)

    def names(self, key: str, *, default: tuple[str, ...]) -> tuple[str, ...]:
        """Return a list of names. A name that occurs twice is kept once, in its first place."""
        value = self._take(key, default)
        if not isinstance(value, (list, tuple)):
            self._wrong(key, value, "a list of names")
            return default
        for index, item in enumerate(value):
            if type(item) is not str or not NAME.match(item):
                self._fault(f"{key}[{index}]", NAME_RULE)
        return tuple(dict.fromkeys(str(item) for item in value))

    def choice(self, key: str, kind: type[E], *, default: E | _Required = REQUIRED) -> E:
        """One of the values of an Enum."""
        value = self._take(key, default)
        members = {member.value: member for member in kind}
        if isinstance(value, str) and value in members:
            return members[value]
        if not isinstance(value, _Required):
            self._fault(key, f"must be one of {', '.join(members)}")
        return next(iter(kind))

    def texts(self, key: str) -> dict[str, str]:
        """Return a map of strings, empty where the field is absent."""
        value = self._take(key, {})
        if not isinstance(value, Mapping) or not all(is_text(k) and is_text(v) for k, v in value.items()):
            self._wrong(key, value, "a map of strings to strings")
            return {}
        return dict(value)

    def by_name(self, key: str, *, required: bool = False) -> Mapping[str, object]:
        """Return a map of names to anything. The caller judges each value, and each name by
        `check_name`.
        """
        value = self._take(key, REQUIRED if required else {})
        if not isinstance(value, Mapping):
            self._wrong(key, value, "a map of names to objects")
            return {}
        return value

    def check_name(self, key: str, name: str) -> None:
        """Record a fault if `name` in the map `key` is no name."""
        if not NAME.match(name):
            self._fault(f"{key}.{name}", f"the name {NAME_RULE}")

    def nested_in(self, key: str, name: str, value: object) -> "Fields":
        """Return the object at `key.name`, whose faults are noted with this one's."""
        return Fields(value, f"{self._path}{key}.{name}.", self._faults)

    def objects(self, key: str, *, required: bool = True, limit: int | None = None) -> list[object]:
        """Return a list of anything. The caller judges each item."""
        value = self._take(key, REQUIRED if required else [])
        if not isinstance(value, list):
            self._wrong(key, value, "a list")
            return []
        if limit is not None and len(value) > limit:
            self._fault(key, f"must have at most {limit} items, not {len(value)}")
        return value

    def nested_or_none(self, key: str) -> "Fields | None":
        value = self._take(key, None)
        return None if value is None else Fields(value, f"{self._path}{key}.", self._faults)

    def nested(self, key: str) -> "Fields":
        return Fields(self._take(key, REQUIRED), f"{self._path}{key}.", self._faults)

    def inside(self, key: str, index: int, value: object) -> "Fields":
        """Return the object at `key[index]`, whose faults are noted with this one's."""
        return Fields(value, f"{self._path}{key}[{index}].", self._faults)

    def anything(self, key: str) -> object:
        """Return the field as it is, for the caller to judge; None if it is absent."""
        return self._take(key, None)

    def fault(self, key: str, detail: str) -> None:
        """Record a fault that the caller has found in a field."""
        self._fault(key, detail)

    def refuse_others(self) -> None:
        """Record each field that was not taken as a fault."""
        for key in self._values:
            if key not in self._taken:
                self._fault(str(key), f"is unknown; the known fields are {', '.join(sorted(self._taken))}")

    @property
    def faulty(self) -> bool:
        return bool(self._faults)

    def finish(self) -> None:
        """Raise `InvalidMessage`, if there are any faults."""
        self._faults.finish()

    def _take(self, key: str, default: object) -> Any:
        self._taken.add(key)
        value = self._values.get(key, default)
        if isinstance(value, _Required) and not self._broken:
            self._fault(key, "is missing")
        return value

    def _wrong(self, key: str, value: object, expected: str) -> None:
        if not isinstance(value, _Required):
            self._fault(key, f"must be {expected}, not {_kind(value)}")

    def _fault(self, key: str, detail: str) -> None:
        self._faults.note(f"{self._path}{key}", detail)


def is_text(value: object) -> bool:
    """Return whether a value is a string that UTF-8 can carry. JSON can spell a lone surrogate,
    UTF-8 cannot carry it.
    """
    if type(value) is not str:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(value: object) -> str:
    return "null" if value is None else _KINDS.get(type(value), type(value).__name__)


_KINDS: Final[Mapping[type, str]] = {
    bool: "a boolean",
    int: "an integer",
    float: "a number with a fraction or an exponent",
    str: "a string",
    list: "a list",
    dict: "an object",
}
