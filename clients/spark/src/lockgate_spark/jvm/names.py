"""Helpers for Java and Scala objects, and for the offsets of Spark's Kafka source."""

import json
from collections.abc import Iterator
from typing import Any

from lockgate_spark.logs.requests import Offsets


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


def parsed(offset: Any) -> Offsets | None:
    """Return the offsets by split name in Spark's Kafka offset object; None if there is none."""
    return None if offset is None else parse(offset.json())


def parse(offsets: str) -> Offsets:
    """Return the offsets by split name from Spark's JSON, such as `{"topic": {"0": 5}}`."""
    return {
        f"{topic}-{partition}": offset
        for topic, of_topic in json.loads(offsets).items()
        for partition, offset in of_topic.items()
    }


def render(offsets: Offsets) -> str:
    """Return offsets by split name as Spark's JSON; the inverse of `parse`."""
    by_topic: dict[str, dict[str, int]] = {}
    for split, offset in offsets.items():
        topic, _, partition = split.rpartition("-")
        by_topic.setdefault(topic, {})[partition] = offset
    return json.dumps(by_topic)
