"""Helpers for Java and Scala objects."""

from collections.abc import Iterator
from typing import Any


def class_name(java: Any) -> str:
    """Return the simple name of a Java object's class, without the `$` of a Scala `object`."""
    return str(java.getClass().getSimpleName()).rstrip("$")


def option(scala_option: Any) -> Any:
    """Return the value in a Scala `Option`; None if it is empty."""
    return scala_option.get() if scala_option.isDefined() else None


def each(scala: Any) -> Iterator[Any]:
    iterator = scala.iterator()
    while iterator.hasNext():
        yield iterator.next()
