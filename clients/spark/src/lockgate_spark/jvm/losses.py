"""Which late rows a query loses, read from its plan: the windows of the one operator that drops
rows.

`dropDuplicates` drops each late row. A windowed aggregation drops a row when the end of the row's
window is at or below the watermark. So for windows that follow each other the first instant that is
kept can be computed. That is exact only where each row reaches the operator: a filter or a join on
the way takes rows that this count has, and the plan is then said not to be `whole`.
"""

import re
from dataclasses import dataclass
from typing import Any

from lockgate_spark.jvm.names import class_name
from lockgate_spark.query_watermark import QueryWatermark
from lockgate_spark.report.findings import QueryShape

_EVENT_TIME = re.compile(r"#(\d+)-T\d+ms")
_ID = re.compile(r"#(\d+)")
# As Spark's rule TimeWindowing writes a window that follows the one before it.
_WINDOW = re.compile(
    r"named_struct\(start, .*?TimestampType, LongType\) - (-?\d+)\) % (\d+)\).*?"
    r", end, .*? \+ (\d+)\), LongType, \w+\)\)\) AS [^#]+#(\d+)-T\d+ms"
)
_DROPPING = ("Aggregate", "Deduplicate", "DeduplicateWithinWatermark")
_PASS_ON = ("CollectMetrics", "SubqueryAlias", "Union", "View")
_MOST_FIELDS = 10_000


@dataclass(frozen=True, slots=True)
class Tumbling:
    """Windows of `size` that follow each other, `offset` after multiples of it; in microseconds.
    A size of 0: each instant is a window of its own.
    """

    size: int = 0
    offset: int = 0

    def closed_below(self, watermark: int) -> int:
        """Return the last instant whose window ends at or below a watermark, in microseconds."""
        if self.size == 0:
            return watermark
        return (watermark - self.offset) // self.size * self.size + self.offset - 1


def query_shape(plan: Any, watermarks: list[QueryWatermark]) -> QueryShape:
    """Read from a running query's logical plan which rows it can lose."""
    return QueryShape(
        delay_ms=min((each.delay_ms for each in watermarks), default=None), whole=windows_of(plan) is not None
    )


def windows_of(plan: Any) -> Tumbling | None:
    """Return the windows of the only operator of a plan that drops rows, if each row of its sources
    reaches it; None if a row may take another path.

    Operators above it do not matter. An operator that drops row by row uses instants.
    """
    node = plan
    while class_name(node) not in _DROPPING:
        if node.children().size() != 1:
            return None
        node = node.children().apply(0)
    columns = node.groupingExpressions() if class_name(node) == "Aggregate" else node.output()
    by = _event_time_of(columns)
    return None if by is None else _windows_below(node, by)


def _event_time_of(columns: Any) -> str | None:
    """Return the id of the only one of these columns that has the event time."""
    found = [_EVENT_TIME.search(str(columns.apply(n).toString())) for n in range(columns.size())]
    ids = [column[1] for column in found if column]
    return ids[0] if len(ids) == 1 else None


def _windows_below(operator: Any, by: str) -> Tumbling | None:
    """Return the windows in the column `by`, if all operators below pass on each row once."""
    windows: dict[str, Tumbling] = {}
    unseen = _children(operator)
    while unseen:
        node = unseen.pop()
        kind = class_name(node)
        unseen += _children(node)
        if kind == "Project":
            for found in _WINDOW.finditer(str(node.simpleString(_MOST_FIELDS))):
                offset, slide, size, name = found.groups()
                if slide != size:
                    return None
                windows[name] = Tumbling(int(size), int(offset))
        elif kind == "EventTimeWatermark":
            windows.update((name, Tumbling()) for name in _ID.findall(str(node.eventTime().toString())))
        elif not _passes_on(node, kind):
            return None
    one_kind = len({each for each in windows.values() if each.size}) <= 1
    return windows.get(by) if one_kind else None


def _children(node: Any) -> list[Any]:
    children = node.children()
    return [children.apply(n) for n in range(children.size())]


def _passes_on(node: Any, kind: str) -> bool:
    """Return whether a node hands on each row that it gets, once."""
    if kind == "Filter":
        return re.fullmatch(r"isnotnull\([^()]*\)", str(node.condition().toString())) is not None
    return kind in _PASS_ON or kind.startswith("StreamingDataSourceV2")
