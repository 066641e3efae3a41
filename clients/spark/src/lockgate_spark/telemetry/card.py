"""A query's status as a small table: HTML for notebooks, with a bar for each partition's drift, and
plain text otherwise.

The colours are half-transparent over the notebook's own background and text, so they fit light and
dark themes. All styles are inline, because notebooks keep no style sheets.
"""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from lockgate.duration import spoken, spoken_s
from lockgate.plan.model import PlannedState
from lockgate_spark.logs.names import names
from lockgate_spark.telemetry.view import BatchAlignment, is_unread

MOST_ROWS = 40
_BAR = 24  # letters of a bar in plain text
_CELL = "padding:2px 12px 2px 0;text-align:left;border:0;background:none;white-space:nowrap"
_NUMBER = _CELL.replace("left", "right")
_STATES = {
    PlannedState.ACTIVE: "reads on",
    PlannedState.PAUSED: "paused",
    PlannedState.CAUGHT_UP: "caught up",
    PlannedState.IDLE: "idle",
}
_COLOURS = {PlannedState.PAUSED: "#d97706"}
_COLOUR = "#3b82c4"


class _Bar(NamedTuple):
    """The row of one partition. `drift_ms` is how far its first unread record is above the lowest
    one of the query; None if nothing is left to read.
    """

    partition: str
    drift_ms: int | None
    colour: str
    note: str


def html(title: str, sentence: str, view: BatchAlignment | None, max_drift_ms: int | None) -> str:
    """Return the table as HTML without scripts, of the `MOST_ROWS` partitions of `view` that are
    furthest ahead. `title` and `sentence` are plain text. A line on the bars marks `max_drift_ms`.
    """
    drawn = _bars(view)
    top = _top(drawn, max_drift_ms)
    rows = "".join(_row(bar, top, max_drift_ms) for bar in drawn[:MOST_ROWS])
    legend = "" if max_drift_ms is None else f"The dashed line is max_drift, {spoken(max_drift_ms)}. "
    more = f"{len(drawn) - MOST_ROWS:,} more partitions are not shown." if len(drawn) > MOST_ROWS else ""
    foot = f'<div style="opacity:.7;font-size:.9em">{escape(legend + more)}</div>' if drawn else ""
    return (
        '<div style="font-family:system-ui,sans-serif;font-size:13px;line-height:1.5;max-width:760px;overflow-x:auto">'
        f'<div style="font-weight:600">{escape(title)}</div><div style="margin-bottom:6px">{escape(sentence)}</div>'
        '<table style="border-collapse:collapse;border:0;margin:0;color:inherit;font:inherit">'
        f"{rows}</table>{foot}</div>"
    )


def text(title: str, sentence: str, view: BatchAlignment | None, max_drift_ms: int | None) -> str:
    """Return the table as plain text. The arguments are those of `html`."""
    drawn = _bars(view)
    top, wide = _top(drawn, max_drift_ms), max((len(bar.partition) for bar in drawn[:MOST_ROWS]), default=0)
    lines = [f"{title}: {sentence}"]
    for bar in drawn[:MOST_ROWS]:
        drift = "" if bar.drift_ms is None else spoken(bar.drift_ms)
        filled = "#" * round(_BAR * (bar.drift_ms or 0) / top)
        lines.append(f"{bar.partition:{wide}}  {filled:{_BAR}}  {drift:>12}  {bar.note}")
    if len(drawn) > MOST_ROWS:
        lines.append(f"… and {len(drawn) - MOST_ROWS:,} more partitions")
    return "\n".join(line.rstrip() for line in lines)


def _bars(view: BatchAlignment | None) -> list[_Bar]:
    if view is None:
        return []
    keys = [(each.source, each.partition) for each in view.partitions]
    called, unread = names(keys, keys), [each for each in view.partitions if is_unread(each)]
    lowest, found = min((each.watermark for each in unread), default=0), []
    for key, each in zip(keys, view.partitions, strict=True):
        note, drift = _STATES[each.state], each.watermark - lowest if is_unread(each) else None
        if each.paused_since is not None:
            note += f" for {spoken_s(max(0.0, view.planned_at - each.paused_since))}"
        found.append(_Bar(called[key], drift, _COLOURS.get(each.state, _COLOUR), note))
    return sorted(found, key=lambda bar: (bar.drift_ms is None, -(bar.drift_ms or 0), bar.partition))


def _row(bar: _Bar, top: int, max_drift_ms: int | None) -> str:
    share = 100 * (bar.drift_ms or 0) / top
    mark = ""
    if max_drift_ms is not None:
        at = 100 * max_drift_ms / top
        mark = f'<span style="position:absolute;left:{at:.1f}%;top:-2px;bottom:-2px;border-left:1px dashed"></span>'
    drawn = (
        f'<span style="display:block;height:100%;width:{share:.1f}%;border-radius:2px;'
        f'background:{bar.colour}"></span>{mark}'
    )
    return (
        f'<tr style="background:none"><td style="{_CELL}">{escape(bar.partition)}</td><td style="{_CELL}">'
        '<span style="display:block;position:relative;width:220px;height:10px;'
        f'background:rgba(128,128,128,.22);border-radius:2px">{drawn}</span></td>'
        f'<td style="{_NUMBER}">{"–" if bar.drift_ms is None else spoken(bar.drift_ms)}</td>'
        f'<td style="{_CELL}">{bar.note}</td></tr>'
    )


def _top(drawn: Sequence[_Bar], max_drift_ms: int | None) -> int:
    return max([bar.drift_ms or 0 for bar in drawn] + [round(1.1 * (max_drift_ms or 0)), 1])
