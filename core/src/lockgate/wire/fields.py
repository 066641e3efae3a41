"""The types of a message's fields, each with its range, pattern or length, and its description.

A message (`events`, `split_events`) is a dataclass whose annotations are these types. That is the
only definition of its JSON: `codec` decodes, checks and encodes by it, and the coordinator derives
its compiled decoders and its OpenAPI document from it.

`Meta` is msgspec's if that is installed, as in the coordinator. Elsewhere a stand-in has the same
attributes, so that the clients need no compiled package and can be shipped as one archive.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from lockgate.watermark import MAX, MIN

if TYPE_CHECKING:
    from msgspec import Meta as Meta
else:
    try:
        from msgspec import Meta
    except ImportError:

        @dataclass(frozen=True, slots=True, kw_only=True)
        class Meta:
            """The attributes of `msgspec.Meta` that the messages use."""

            ge: int | None = None
            le: int | None = None
            pattern: str | None = None
            min_length: int | None = None
            max_length: int | None = None
            description: str | None = None


Json = dict[str, Any]

NAME_PATTERN = r"(?:\.{0,2}[A-Za-z0-9_:-]|\.{3})[A-Za-z0-9._:-]*"
"""A name may be in a URL's path, so it is neither `.` nor `..`. NAME also limits its length."""
NAME = re.compile(rf"(?=.{{1,255}}\Z){NAME_PATTERN}\Z")
NAME_RULE = "must be 1 to 255 characters out of A-Z a-z 0-9 . _ - :, and neither . nor .."

MOMENT = (
    "ms since the Unix epoch. The lowest value (MIN) means no time yet, the highest (MAX) means that "
    "the reader never blocks others"
)

Integer = Annotated[int, Meta(ge=MIN, le=MAX)]
"""Any whole number of 64 bits."""

Time = Annotated[int, Meta(ge=MIN, le=MAX, description=MOMENT)]
"""Event time or a watermark."""

Count = Annotated[int, Meta(ge=0, le=MAX)]

Positive = Annotated[int, Meta(ge=1, le=MAX)]

Name = Annotated[str, Meta(pattern=rf"^{NAME_PATTERN}\Z", min_length=1, max_length=255, description=NAME_RULE)]
"""The name of a group, a source or a split. The description is its rule, as errors state it."""


def at_least(low: int, description: str | None = None) -> Any:
    """Return the constraint that a number is at least `low`, and fits into 64 bits."""
    return Meta(ge=low, le=MAX, description=description)


class Required:
    """A marker for a field that has a default in Python, but must not be absent in JSON."""


@dataclass(frozen=True, slots=True)
class JsonForm:
    """A custom JSON form of a type, for use in `Annotated`. `schema` describes the JSON.

    `read` returns the value in the JSON or raises `InvalidValue`, and `write` is its inverse.
    """

    read: Callable[[object], Any]
    write: Callable[[Any], object]
    schema: Json

    def __hash__(self) -> int:
        return id(self)
