"""The conversion of views to JSON and back, for a process other than the one that plans. A
dataclass becomes an object with the names of its fields, and an Enum its value.
"""

import types
import typing
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any


def to_json(value: Any) -> Any:
    """Return `value` in a form that `json.dumps` accepts."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    return [to_json(each) for each in value] if isinstance(value, tuple | list) else value


def from_json(kind: Any, value: Any) -> Any:
    """Convert `value`, a result of `to_json`, back to an object of the type `kind`. A field that is
    missing gets its default, and unknown fields are ignored.
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
