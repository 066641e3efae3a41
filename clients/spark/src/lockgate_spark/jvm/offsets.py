"""Where the sources of a run stand, read off Spark's offset log and its progress.

Spark numbers a query's sources as it meets them in the plan, or goes by their names, where all have
been given one (source evolution, from 4.2 on). Its log has offsets by place in the plan (format 1),
where a source that is used twice has two places, or by an id (format 2, `OffsetMap`): the name,
else one of those places.
"""

from functools import cached_property
from typing import Any

from lockgate_spark.jvm.names import class_name, option
from lockgate_spark.jvm.watermarks import source_index

EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"


class SourceOffsets:
    """The sources of one run, once Spark has opened all of them; offsets are Spark's own objects.
    `source`: its index.
    """

    def __init__(self, execution: Any, jvm: Any) -> None:
        self._execution, self._jvm = execution, jvm

    def started(self, source: int) -> Any | None:
        """Where the next batch of a source starts; None where the query has read nothing of it."""
        stream = self._streams.get(source)
        return None if stream is None else option(self._execution.getStartOffsetsOfLatestBatch().get(stream))

    def logged(self, source: int) -> Any | None:
        """Where the log's last batch ends for a source; None without one."""
        entry = option(self._execution.offsetLog().getLatest())
        stream = self._streams.get(source)
        if entry is None or stream is None:
            return None
        logged = entry._2()
        if class_name(logged) == "OffsetMap":
            by_id = logged.offsetsMap()
            found = [option(by_id.get(each)) for each in self._ids(stream) if by_id.contains(each)]
            return found[0] if found else None
        offsets, place = logged.offsets(), self._places(stream)[0]
        return option(offsets.apply(place)) if place < offsets.size() else None

    def _ids(self, stream: Any) -> list[str]:
        by_id = self._execution.sourceIdMap()
        ids = [str(name) for name in _each(by_id.keys())]
        return [name for name in ids if self._same(by_id.apply(name), stream)]

    def _places(self, stream: Any) -> list[int]:
        return [place for place, other in enumerate(_each(self._execution.sources())) if self._same(other, stream)]

    @cached_property
    def _streams(self) -> dict[int, Any]:
        if str(self._execution.sparkSessionForStream().conf().get(EVOLUTION, "false")).lower() == "true":
            by_id = self._execution.sourceIdMap()
            return {source_index(str(name)): by_id.apply(name) for name in _each(by_id.keys())}
        return dict(enumerate(_each(self._execution.sources().distinct())))

    def _same(self, one: Any, other: Any) -> bool:
        number = (
            self._jvm.java.lang.System.identityHashCode
        )  # py4j asks a proxy for `equals` in Python, where Java objects have other names
        return bool(number(one) == number(other))


def metadata(entry: Any) -> Any | None:
    """What an entry of the log says of its batch; None where it says nothing. Spark's versions have
    it under several names.
    """
    found = entry.productElement(1)
    return found if class_name(entry) == "OffsetMap" else option(found)


def _each(scala: Any) -> list[Any]:
    iterator = scala.iterator()
    found = []
    while iterator.hasNext():
        found.append(iterator.next())
    return found
