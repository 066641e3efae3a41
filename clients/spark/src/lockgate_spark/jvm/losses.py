"""Finds in a query's plan the windows that decide which late rows the query drops.

`dropDuplicates` drops each late row. A windowed aggregation drops a row when the end of the row's
window is at or below the watermark. So for tumbling windows, the first instant that is kept can be
computed. This is exact only if each row reaches the operator. A filter or a join before the
operator can remove rows that this count includes; then the plan is not `whole`.
"""

import re
from dataclasses import dataclass
from typing import Any

from lockgate_spark.jvm.names import class_name, each
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
    """Tumbling windows of `size`, each of which begins `offset` after a multiple of `size`. Both
    are in microseconds. If `size` is 0, each instant is a window.
    """

    size: int = 0
    offset: int = 0

    def closed_below(self, watermark: int) -> int:
        """Return the last instant whose window ends at or below `watermark`. Both are in
        microseconds.
        """
        if self.size == 0:
            return watermark
        return (watermark - self.offset) // self.size * self.size + self.offset - 1


def query_shape(plan: Any, watermarks: list[QueryWatermark]) -> QueryShape:
    """Return the shape of a query: the shortest delay of its watermarks, and whether each row
    reaches the operator that drops late rows. `plan` is its logical plan, and `watermarks` are all
    watermarks in it.
    """
    return QueryShape(
        delay_ms=min((one.delay_ms for one in watermarks), default=None), whole=windows_of(plan) is not None
    )


def windows_of(plan: Any) -> Tumbling | None:
    """Return the windows of the plan's only operator that drops rows. Return None if not every row
    of the sources reaches this operator.

    Operators above it do not matter. If the operator has no windows, each instant counts as one.
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
    """Return the expression id of the event-time column among `columns`; None unless there is
    exactly one.
    """
    found = [_EVENT_TIME.search(str(column.toString())) for column in each(columns)]
    ids = [column[1] for column in found if column]
    return ids[0] if len(ids) == 1 else None


def _windows_below(operator: Any, by: str) -> Tumbling | None:
    """Return the windows of the column with the id `by`, from the part of the plan below
    `operator`. Return None if windows there overlap or differ, or if another operator there may
    remove or repeat rows.
    """
    windows: dict[str, Tumbling] = {}
    unseen = list(each(operator.children()))
    while unseen:
        node = unseen.pop()
        kind = class_name(node)
        unseen += each(node.children())
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
    one_kind = len({one for one in windows.values() if one.size}) <= 1
    return windows.get(by) if one_kind else None


def _passes_on(node: Any, kind: str) -> bool:
    """Return whether a node passes on each of its rows exactly once."""
    if kind == "Filter":
        return re.fullmatch(r"isnotnull\([^()]*\)", str(node.condition().toString())) is not None
    return kind in _PASS_ON or kind.startswith("StreamingDataSourceV2")
