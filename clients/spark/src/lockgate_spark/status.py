"""The public function `status`."""

import time
from dataclasses import dataclass
from enum import Enum
from html import escape
from typing import Any, NamedTuple

from lockgate import watermark
from lockgate.duration import spoken, spoken_s
from lockgate.plan.model import PlannedState
from lockgate.wire.codec import from_json
from lockgate_spark import connect
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.gates.gate import Gate
from lockgate_spark.logs.unread import names
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.running import running
from lockgate_spark.spark_lines import is_connect
from lockgate_spark.telemetry import waits
from lockgate_spark.telemetry.view import BatchAlignment, PartitionAlignment, is_unread
from lockgate_spark.telemetry.waits import Wait

_MOST_ROWS = 40
_BAR = 24  # letters of a bar in plain text
# styles are inline, because notebooks keep no style sheets, and colours fit light and dark themes
_CELL = "padding:2px 12px 2px 0;text-align:left;border:0;background:none;white-space:nowrap"
_NUMBER = _CELL.replace("left", "right")
_BLUE, _ORANGE = "#3b82c4", "#d97706"
_STATES = {
    PlannedState.ACTIVE: "reads on",
    PlannedState.PAUSED: "paused",
    PlannedState.CAUGHT_UP: "caught up",
    PlannedState.IDLE: "idle",
}


class QueryState(str, Enum):
    """The state of a query with respect to alignment."""

    STARTING = "starting"
    READING = "reading"
    WAITING = "waiting"
    CAUGHT_UP = "caught up"  # nothing is left to read
    OBSERVING = "observing"
    GATED = "gated"
    NOT_ALIGNED = "not aligned"
    ENDED = "ended"


class _Bar(NamedTuple):
    """The row of one partition. `drift` is how far its first unread record is above the lowest one
    of the query, as text and as a share of the widest bar; empty if nothing is left to read.
    """

    partition: str
    drift: str
    share: float
    colour: str
    note: str


@dataclass(frozen=True, slots=True)
class AlignmentStatus:
    """State of one query at one moment. `print` shows a sentence and a table; a notebook shows
    HTML.

    Attributes:
        query: The query's name, or its id if it has no name.
        state: What the query is doing.
        sentence: The state in words, with what the query waits for and why.
        waits_for: A partition, a whole window, readers of the group, the person who paused the
            query, or the coordinator. Empty if the query does not wait, or if the readers are not
            known.
        waits_since: Time (s since 1970) when the wait began; None if the query does not wait.
        max_drift: The allowed drift (ms); None until it is known.
        view: The query's latest plan; None before the first plan.

    """

    query: str
    state: QueryState
    sentence: str
    waits_for: str = ""
    waits_since: float | None = None
    max_drift: int | None = None
    view: BatchAlignment | None = None

    @property
    def partitions(self) -> tuple[PartitionAlignment, ...]:
        """The partitions of the latest plan; empty before the first plan."""
        return () if self.view is None else self.view.partitions

    def __str__(self) -> str:
        bars, _, more = _bars(self)
        wide = max((len(bar.partition) for bar in bars), default=0)
        lines = [f"{self.query}: {self.sentence}"]
        for bar in bars:
            drawn = "#" * round(_BAR * bar.share)
            lines.append(f"{bar.partition:{wide}}  {drawn:{_BAR}}  {bar.drift:>12}  {bar.note}")
        lines += [f"… and {more}"] if more else []
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        bars, top, more = _bars(self)
        mark = legend = ""
        if self.max_drift is not None:
            left = f"left:{100 * self.max_drift / top:.1f}%"
            mark = f'<span style="position:absolute;{left};top:-2px;bottom:-2px;border-left:1px dashed"></span>'
            legend = f"The dashed line is max_drift, {spoken(self.max_drift)}. "
        legend += f"{more} are not shown." if more else ""
        rows = "".join(
            f'<tr style="background:none"><td style="{_CELL}">{escape(bar.partition)}</td><td style="{_CELL}">'
            '<span style="display:block;position:relative;width:220px;height:10px;background:rgba(128,128,128,.22);'
            f'border-radius:2px"><span style="display:block;height:100%;width:{100 * bar.share:.1f}%;border-radius:2px;'
            f'background:{bar.colour}"></span>{mark}</span></td>'
            f'<td style="{_NUMBER}">{bar.drift or "–"}</td><td style="{_CELL}">{bar.note}</td></tr>'
            for bar in bars
        )
        foot = f'<div style="opacity:.7;font-size:.9em">{escape(legend)}</div>' if bars else ""
        return (
            '<div style="font-family:system-ui,sans-serif;font-size:13px;line-height:1.5;max-width:760px;'
            f'overflow-x:auto"><div style="font-weight:600">{escape(self.query)}</div>'
            f'<div style="margin-bottom:6px">{escape(self.sentence)}</div>'
            '<table style="border-collapse:collapse;border:0;margin:0;color:inherit;font:inherit">'
            f"{rows}</table>{foot}</div>"
        )


def status(query: Any) -> AlignmentStatus:
    """Return what `query` is doing and what it waits for, without asking Kafka or the coordinator.

    Examples:
        >>> query = orders.writeStream.format("noop").queryName("orders").start()
        >>> found = lockgate_spark.status(query)
        >>> print(found.sentence)
        The query waits for partition orders-3 (for 12 s so far): …

    Args:
        query: The `StreamingQuery` that `writeStream…start()` returns.

    Raises:
        UnsupportedQuery: `query` is not a `StreamingQuery`.

    """
    if not all(hasattr(query, name) for name in ("id", "isActive", "name")):
        raise UnsupportedQuery(f"status(): expected the StreamingQuery of a start(), not {type(query).__name__}")
    if is_connect(query):
        return from_json(AlignmentStatus, connect.ask(query._session.range(1), "status", query_id=str(query.id)))
    name, query_id = str(query.name or query.id), str(query.id)
    if not query.isActive:
        ended = running.of_query(AlignedRun, query_id, ended=True)
        left = "" if ended is None else ended.planner.left
        return AlignmentStatus(name, QueryState.ENDED, f"The query has ended. {left}".strip())
    if (aligned := running.of_query(AlignedRun, query_id)) is not None:
        return _of_run(name, aligned)
    if (gate := running.of_query(Gate, query_id)) is not None:
        if (present := gate.waits.present) is not None:
            return _waiting(name, *present, None, gate.view)
        said = "The gate lets each batch wait for the group; none is waiting now."
        return AlignmentStatus(name, QueryState.GATED, said, view=gate.view)
    said = "The query is not aligned, or Spark has not opened its sources yet."
    return AlignmentStatus(name, QueryState.NOT_ALIGNED, said)


def _of_run(name: str, run: AlignedRun) -> AlignmentStatus:
    view, present = run.held_view or run.view, run.planner.waits.present
    has_looked, member = run.planner.looker.last is not None, run.membership
    if present is None and view is None and has_looked and member is not None and member.last is None:
        present = waits.for_coordinator(None), 0.0
    if present is not None:
        return _waiting(name, *present, run.max_drift, view)
    if view is None:
        return AlignmentStatus(name, QueryState.STARTING, "The first plan is being made; it waits for Kafka's answers.")
    upto, paused = watermark.instant(view.target, "nothing yet", "the end of the data"), len(view.paused)
    if run.alignment.mode == "observe":
        state, said = QueryState.OBSERVING, "Spark reads what it would read without lockgate; alignment would "
        said += f"read up to {upto} and pause {paused} partitions."
    elif any(is_unread(each) for each in view.partitions):
        state = QueryState.READING
        said = f"The query reads up to {upto}; {paused} of {len(view.partitions)} partitions are paused."
    else:
        state, said = QueryState.CAUGHT_UP, "All partitions are read to their end."
    return AlignmentStatus(name, state, said, max_drift=run.max_drift, view=view)


def _waiting(name: str, wait: Wait, lasted_s: float, drift: int | None, view: BatchAlignment | None) -> AlignmentStatus:
    said = waits.sentence("The query", wait, lasted_s)
    return AlignmentStatus(name, QueryState.WAITING, said, wait.names, time.time() - lasted_s, drift, view)


def _bars(status: AlignmentStatus) -> tuple[list[_Bar], float, str]:
    """Return the rows of the table, those furthest ahead first, the drift (ms) of the widest bar,
    and the number of the rows that are left out, as text.
    """
    partitions = status.partitions
    keys = [(each.source, each.partition) for each in partitions]
    called, lowest = names(keys, keys), min((each.watermark for each in partitions if is_unread(each)), default=0)
    drifts = [each.watermark - lowest if is_unread(each) else None for each in partitions]
    top, found = max([drift or 0 for drift in drifts] + [1.1 * (status.max_drift or 0), 1]), []
    for key, each, drift in zip(keys, partitions, drifts, strict=True):
        note = _STATES[each.state]
        if each.paused_since is not None and status.view is not None:
            note += f" for {spoken_s(max(0.0, status.view.planned_at - each.paused_since))}"
        colour = _ORANGE if each.state is PlannedState.PAUSED else _BLUE
        found.append(_Bar(called[key], "" if drift is None else spoken(drift), (drift or 0) / top, colour, note))
    found.sort(key=lambda bar: (not bar.drift, -bar.share, bar.partition))
    more = f"{len(found) - _MOST_ROWS:,} more partitions" if len(found) > _MOST_ROWS else ""
    return found[:_MOST_ROWS], top, more
