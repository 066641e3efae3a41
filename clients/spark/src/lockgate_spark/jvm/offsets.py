"""Reads the offsets of a run's sources from Spark's offset log and from the query's progress.

Spark numbers a query's sources in the order of the plan, or uses their names if all have one
(source evolution, from Spark 4.2 on). Format 1 of the log lists offsets by the source's place in
the plan; a source that is used twice has two places. Format 2 (`OffsetMap`) has them by an id,
which is the source's name or one of its places.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lockgate_spark.jvm.names import class_name, each, option
from lockgate_spark.jvm.watermarks import source_index
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.spark_lines import session_of, start_offsets

EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"


@dataclass(frozen=True)
class SourceOffsets:
    """The offsets of one run's sources, None for a source without any. Spark must have opened all
    sources.
    """

    execution: Any
    jvm: Any

    def index_of(self, stream: Any) -> int | None:
        """Return the index of the source that a `stream` in the plan reads, if it is aligned."""
        if not self.jvm.java.lang.reflect.Proxy.isProxyClass(stream.getClass()):
            return None
        return next(index for index, one in self._streams.items() if self._same(one, stream))

    def start_offsets(self, source: int) -> Offsets | None:
        stream = self._streams.get(source)
        return None if stream is None else parsed(option(start_offsets(self.execution).get(stream)))

    def logged_offsets(self, source: int, batch: int | None = None) -> Offsets | None:
        """Return the offsets at which `batch` ends for `source`; without `batch`, the last one."""
        logged, stream = self._logged(batch), self._streams.get(source)
        if logged is None or stream is None:
            return None
        if class_name(logged) == "OffsetMap":
            by_id, named = logged.offsetsMap(), self.execution.sourceIdMap()
            ids = [str(name) for name in each(named.keys())]
            logged_ids = [one for one in ids if self._same(named.apply(one), stream) and by_id.contains(one)]
            return parsed(option(by_id.apply(logged_ids[0]))) if logged_ids else None
        offsets, streams = logged.offsets(), each(self.execution.sources())
        place = next(place for place, other in enumerate(streams) if self._same(other, stream))
        return parsed(option(offsets.apply(place))) if place < offsets.size() else None

    def logged_watermark(self, batch: int | None = None) -> int | None:
        """Return the watermark (ms) logged with `batch`, or with the last one; None without one."""
        logged = self._logged(batch)
        if logged is None:
            return None
        # the field's name depends on the version of Spark, its position does not
        element = logged.productElement(1)
        metadata = element if class_name(logged) == "OffsetMap" else option(element)
        return None if metadata is None else int(metadata.batchWatermarkMs()) or None

    def _logged(self, batch: int | None) -> Any:
        if batch is not None:
            return option(self.execution.offsetLog().get(batch))
        last = option(self.execution.offsetLog().getLatest())
        return None if last is None else last._2()

    @cached_property
    def _streams(self) -> dict[int, Any]:
        if str(session_of(self.execution).conf().get(EVOLUTION, "false")).lower() == "true":
            by_id = self.execution.sourceIdMap()
            return {source_index(str(name)): by_id.apply(name) for name in each(by_id.keys())}
        return dict(enumerate(each(self.execution.sources().distinct())))

    def _same(self, one: Any, other: Any) -> bool:
        # py4j calls a proxy's `equals` in Python, where Java objects have other names
        identity = self.jvm.java.lang.System.identityHashCode
        return bool(identity(one) == identity(other))


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
