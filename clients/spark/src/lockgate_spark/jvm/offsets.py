"""The offsets of a run's sources, from Spark's offset log and its progress.

Spark numbers a query's sources in the order of the plan. If all sources have names (source
evolution, from Spark 4.2 on), it uses the names. The log has two formats:

* Format 1 lists offsets by the source's place in the plan; a source that is used twice has two
  places.
* Format 2 (`OffsetMap`) has offsets by an id, which is the source's name or one of its places.

Both contain a Scala `Option` for each source, which is empty if the source had no offset.
"""

from functools import cached_property
from typing import Any

from lockgate_spark.jvm.names import class_name, each, option
from lockgate_spark.jvm.watermarks import source_index
from lockgate_spark.spark_lines import session_of, start_offsets

EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"


class SourceOffsets:
    """Reads the offsets of one run's sources, as Spark's own objects. Spark must have opened all
    sources. Its methods take the index of a source as `source`.
    """

    def __init__(self, execution: Any, jvm: Any) -> None:
        self._execution, self._jvm = execution, jvm

    def index(self, stream: Any) -> int:
        """Return the index of the source that `stream` reads."""
        return next(index for index, one in self._streams.items() if self._same(one, stream))

    def started(self, source: int) -> Any | None:
        """Return the offsets at which the next batch of a source starts; None if the query has not
        read the source yet.
        """
        stream = self._streams.get(source)
        return None if stream is None else option(start_offsets(self._execution).get(stream))

    def logged(self, source: int) -> Any | None:
        """Return the offsets at which the last batch in the offset log ends for a source; None if
        the log has no offsets for it.
        """
        entry = option(self._execution.offsetLog().getLatest())
        return None if entry is None else self.end_in(entry._2(), source)

    def end_in(self, logged: Any, source: int) -> Any | None:
        """Return the offsets at which a batch ends for a source; None if there are none. `logged`
        is the batch's entry in the offset log.
        """
        stream = self._streams.get(source)
        if stream is None:
            return None
        if class_name(logged) == "OffsetMap":
            by_id = logged.offsetsMap()
            logged_ids = [one for one in self._ids(stream) if by_id.contains(one)]
            return option(by_id.apply(logged_ids[0])) if logged_ids else None
        offsets, place = logged.offsets(), self._places(stream)[0]
        return option(offsets.apply(place)) if place < offsets.size() else None

    def _ids(self, stream: Any) -> list[str]:
        by_id = self._execution.sourceIdMap()
        ids = [str(name) for name in each(by_id.keys())]
        return [name for name in ids if self._same(by_id.apply(name), stream)]

    def _places(self, stream: Any) -> list[int]:
        return [place for place, other in enumerate(each(self._execution.sources())) if self._same(other, stream)]

    @cached_property
    def _streams(self) -> dict[int, Any]:
        if str(session_of(self._execution).conf().get(EVOLUTION, "false")).lower() == "true":
            by_id = self._execution.sourceIdMap()
            return {source_index(str(name)): by_id.apply(name) for name in each(by_id.keys())}
        return dict(enumerate(each(self._execution.sources().distinct())))

    def _same(self, one: Any, other: Any) -> bool:
        # py4j calls a proxy's `equals` in Python, where Java objects have other names
        identity = self._jvm.java.lang.System.identityHashCode
        return bool(identity(one) == identity(other))


def metadata(entry: Any) -> Any | None:
    """Return the metadata of a batch from its entry in the offset log; None if there is none. The
    name of the field with the metadata depends on the version of Spark, so the field is read by its
    position.
    """
    element = entry.productElement(1)
    return element if class_name(entry) == "OffsetMap" else option(element)
