"""Stores texts in the folder `lockgate` of a query's checkpoint. A query also runs without them."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from lockgate.errors import InvalidValue
from lockgate.wire.fields import JsonForm
from lockgate_spark.logs.unread import Key, by_source

log = logging.getLogger("lockgate")

T = TypeVar("T")


def remembered(texts: Iterable[str], parse: Callable[[object], T], what: str) -> list[T]:
    """Return the values of all texts whose JSON `parse` accepts; it may raise `ValueError`. Log a
    warning about the others, with `what` they contain.
    """
    found, faults = [], []
    for text in texts:
        try:
            found.append(parse(json.loads(text)))
        except (ValueError, RecursionError) as error:
            faults.append(f"{error} in {text[:80]!r}")
    if faults:
        ignored = "ignoring an unreadable file of %s in <checkpoint>/lockgate, which the query writes anew: %.300s"
        log.warning(ignored, what, faults[0])
    return found


def by_split(read: Callable[[object], T]) -> JsonForm:
    """Return the JSON form of a map from splits to values: an object with one member for each
    source, which maps the names of its splits to values. `read` converts the JSON of one value, or
    raises `InvalidValue`.
    """

    def read_all(value: object) -> dict[Key, T]:
        found = dict[Key, T]()
        for source, splits in value.items() if isinstance(value, Mapping) else [("", value)]:
            if not source.isdecimal() or not isinstance(splits, Mapping):
                raise InvalidValue("sources", "must have a map of splits each")
            found |= {(int(source), split): read(each) for split, each in splits.items()}
        return found

    def write_all(values: Mapping[Key, T]) -> dict[str, dict[str, T]]:
        return {str(i): of_source for i, of_source in by_source(values).items()}

    return JsonForm(read_all, write_all, {})
