"""Which late rows a query loses, read from its plan: the windows of its one aggregation.

A windowed aggregation drops a row when the end of the row's window is at or below the watermark. So
for windows that follow each other the first instant that is kept can be computed. That is exact
only where each row reaches the aggregation: a filter or a join on the way takes rows that this
count has, and the plan is then said not to be `whole`.
"""

import re
from dataclasses import dataclass
from typing import Any

from lockgate_spark.jvm.names import class_name
from lockgate_spark.query_watermark import QueryWatermark
from lockgate_spark.report.findings import QueryShape

_EVENT_TIME = re.compile(r"#(\d+)-T\d+ms")
# As Spark's rule TimeWindowing writes a window that follows the one before it.
_WINDOW = re.compile(
    r"named_struct\(start, .*?TimestampType, LongType\) - (-?\d+)\) % (\d+)\).*?"
    r", end, .*? \+ (\d+)\), LongType, \w+\)\)\) AS [^#]+#(\d+)-T\d+ms"
)
_PASS_ON = ("EventTimeWatermark", "CollectMetrics", "SubqueryAlias", "Union", "Project", "View")
_MOST_FIELDS = 10_000


@dataclass(frozen=True, slots=True)
class Tumbling:
    """Windows of `size` that follow each other, `offset` after multiples of it; in microseconds.
    A size of 0: each instant is a window of its own.
    """

    size: int = 0
    offset: int = 0

    def closed_below(self, watermark: int) -> int:
        """The last instant whose window ends at or below a watermark, in microseconds."""
        if self.size == 0:
            return watermark
        return (watermark - self.offset) // self.size * self.size + self.offset - 1


def query_shape(plan: Any, watermarks: list[QueryWatermark]) -> QueryShape:
    """What the logical plan of a running query says of losses."""
    return QueryShape(
        delay_ms=min((each.delay_ms for each in watermarks), default=None), whole=windows_of(plan) is not None
    )


def windows_of(plan: Any) -> Tumbling | None:
    """The windows of the only aggregation that a plan has, where each row of its sources comes to
    it; None where a row may go another way.
    """
    grouped, made, open_nodes = None, {}, [plan]
    while open_nodes:
        node = open_nodes.pop()
        kind, children = class_name(node), node.children()
        open_nodes += [children.apply(n) for n in range(children.size())]
        if kind == "Aggregate":
            if grouped is not None:
                return None
            keys = [
                _EVENT_TIME.search(str(node.groupingExpressions().apply(n).toString()))
                for n in range(node.groupingExpressions().size())
            ]
            times = [key[1] for key in keys if key]
            if len(times) != 1:
                return None
            grouped = times[0]
        elif kind == "Project":
            for found in _WINDOW.finditer(str(node.simpleString(_MOST_FIELDS))):
                offset, slide, size, name = found.groups()
                if slide != size:
                    return None
                made[name] = Tumbling(int(size), int(offset))
        elif not _passes_on(node, kind):
            return None
    return None if grouped is None else made.get(grouped, Tumbling() if not made else None)


def _passes_on(node: Any, kind: str) -> bool:
    """Whether a node hands on each row that it gets, once."""
    if kind == "Filter":
        return re.fullmatch(r"isnotnull\([^()]*\)", str(node.condition().toString())) is not None
    return kind in _PASS_ON or kind.startswith(("WriteTo", "StreamingDataSourceV2"))
