"""What a client is refused, and what not, as the class of the error and its text."""

import json
from collections.abc import Callable

from streams import spark, stream

from lockgate_spark import Alignment, align, report_progress


def refused(attempt: Callable[[], object]) -> list[str]:
    try:
        attempt()
    except Exception as error:
        return [type(error).__name__, str(error).splitlines()[0]]
    return ["", ""]


def unaligned() -> object:
    return stream(lockgate__maxDrift="1 minute").isStreaming


def columns() -> object:
    """Columns of an aligned DataFrame, and of the one that it was made from."""
    source = stream()
    aligned = align(source.withColumn("text", source.value.cast("string")))
    return aligned.select(aligned.text, aligned["timestamp"], source["offset"]).columns


found = {
    "columns": refused(columns),
    "off": refused(lambda: stream("lockgate-kafka", lockgate__ALIGN="false", lockgate__lateRows="count").isStreaming),
    "rate": refused(lambda: align(spark.readStream.format("rate").load())),
    "batch": refused(lambda: align(spark.range(3))),
    "twice": refused(lambda: align(align(stream()))),
    "event_time": refused(lambda: align(stream(), Alignment(event_time="no_such_column"))),
    "zone": refused(lambda: align(stream(), Alignment(slice="1 hour", slice_zone="Mars/Olympus"))),
    "unknown option": refused(lambda: stream(lockgate__align="true", lockgate__maxDrfit="1 minute").isStreaming),
    "option without align": refused(unaligned),
    "report_progress": refused(lambda: report_progress(spark.range(1))),
}
print(json.dumps(found))
