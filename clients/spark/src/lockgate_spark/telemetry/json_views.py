"""Converts views to JSON and back, so that they can be read in a process other than the
planner's. A dataclass becomes an object with the names of its fields, and an Enum its value.
"""

import types
import typing
from dataclasses import asdict, is_dataclass
from enum import Enum
from typing import Any


def to_json(value: Any) -> Any:
    """Return a dataclass or None in a form that `json.dumps` accepts."""
    return None if value is None else asdict(value, dict_factory=_values)


def _values(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value.value if isinstance(value, Enum) else value for name, value in pairs}


def from_json(kind: Any, value: Any) -> Any:
    """Convert the result of `to_json` back to an object of the type `kind`. A missing field gets
    its default, and unknown fields are ignored.
    """
    if value is None:
        return None
    of, parts = typing.get_origin(kind), typing.get_args(kind)
    if of in (types.UnionType, typing.Union):
        return from_json(next(part for part in parts if part is not type(None)), value)
    if of is tuple:
        return tuple(from_json(parts[0], each) for each in value)
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(**{name: from_json(hints[name], each) for name, each in value.items() if name in hints})  # type: ignore[operator]
    return kind(value) if isinstance(kind, type) and issubclass(kind, Enum) else value
