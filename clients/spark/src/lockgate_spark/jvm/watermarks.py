"""The `withWatermark` calls of a query, read from its plan, and the source columns behind them,
which `PlanColumns.java` follows through projections, aliases, unions and joins. So a renamed
`timestamp` is still Kafka's timestamp, but the result of an expression over it is not.
"""

import json
import zlib
from collections.abc import Callable
from typing import Any

from lockgate_spark.event_times import Origin, QueryWatermark, Unaligned
from lockgate_spark.jvm.compiler import new_java
from lockgate_spark.jvm.failures import Selected
from lockgate_spark.jvm.names import class_name
from lockgate_spark.spark_lines import options_of

NAMED = 2**32
"""The lowest index of a source with a name."""


def query_watermarks(plan: Any, jvm: Any, index_of: Callable[[Any], int | None]) -> list[QueryWatermark]:
    """Return the watermarks of a logical plan. `index_of` returns an aligned stream's index."""
    columns = new_java(jvm, plan, "lockgate_spark.jvm", "PlanColumns", plan)
    delay_ms = jvm.org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark.getDelayMs
    found = []
    for node in columns.watermarks():
        origins = tuple(
            _origin(row[0], [_column(column[0], column[1], index_of) for column in row[1]])
            for row in columns.origins(node)
        )
        found.append(QueryWatermark(str(node.eventTime().name()), int(delay_ms(node.delay())), origins))
    return found


def source_index(checkpoint: str) -> int:
    """Return the index of a source from the path of its checkpoint, `<checkpoint>/sources/<index>`,
    or `…/<name>` for a source with a name. In a group, the index identifies the reader.
    """
    name = checkpoint.rstrip("/").rpartition("/")[2]
    number = int(name) if name.isdecimal() else NAMED
    return number if number < NAMED and str(number) == name else NAMED + zlib.crc32(name.encode())


def _column(leaf: Any, name: str, index_of: Callable[[Any], int | None]) -> Origin:
    """Return the origin of column `name` of a plan's `leaf`; `leaf` is None if it is not known."""
    if leaf is None or not leaf.isStreaming():
        return Origin(False, None if leaf is None else name, name)
    if not class_name(leaf).startswith("StreamingDataSourceV2"):
        return Origin(False, name, name, unaligned=(Unaligned(str(leaf.toString())),))
    stream = leaf.stream()
    if (index := index_of(stream)) is not None:
        return Origin(True, name, name, index)
    reader = None
    if class_name(stream) == "KafkaMicroBatchStream":
        selected = Selected.by(options_of(leaf))
        reader = f'spark.readStream.format("kafka").option("{selected.option}", {json.dumps(selected.text)})….load()'
    return Origin(False, name, name, unaligned=(Unaligned(str(stream.toString()), reader),))


def _origin(expression: str | None, columns: list[Origin]) -> Origin:
    """Return the origin of `expression`, or that of the first column if `expression` is None."""
    if expression is None:
        return columns[0]
    sources = {column.source for column in columns}
    source = sources.pop() if len(sources) == 1 else None
    unaligned = tuple(dict.fromkeys(one for column in columns for one in column.unaligned))
    return Origin(any(column.aligned for column in columns), None, expression, source, unaligned)
