"""The report's charts, as plotly figures: contents and colours. Nothing here knows of HTML.

Event time is drawn in hours since the topic's first record. Backgrounds are transparent and text
has no colour of its own, so that the page may be light or dark.
"""

from collections.abc import Iterator, Sequence

import plotly.graph_objects as go
from examples.demo.drift import last_read, leads, position
from examples.demo.history import Batch, Run
from examples.demo.times import clock, span

from lockgate_testbed.skew import HOUR_MS, SkewedTopic

# Distinct from each other and from the red of what is lost, on white and on black.
COLOURS = ("#9aa0a6", "#f28e2b", "#59a14f", "#b07aa1", "#c9a227", "#9c755f", "#2bb3b1", "#3f8ae0")
LATE = "#d6403a"
LATE_ZONE = "rgba(214,64,58,0.16)"
BAND = "rgba(63,138,224,0.18)"
DASH_PX = 9
LEGEND = {"orientation": "h", "traceorder": "normal", "y": 1.01, "yanchor": "bottom", "x": 0}
FAST, SLOW = "#f28e2b", "#3f8ae0"


def split_chart(topic: SkewedTopic, run: Run) -> go.Figure:
    """Each split's event time over the rows that the run has read, and Spark's watermark over a
    zone in which rows come too late.
    """
    rows = _rows_read(run.batches)
    figure = go.Figure(_late_zone(topic, run.batches, rows))
    figure.add_traces(list(_splits(topic, run.batches, rows)))
    figure.update_layout(_layout(topic))
    figure.update_xaxes(title_text="records read so far", range=[0, rows[-1]])
    return figure


def query_chart(topic: SkewedTopic, fast: Run, slow: Run, max_drift_ms: int) -> go.Figure:
    """Draw the two queries' event time over the wall clock, in the band that the group leaves them;
    below it how far ahead fast's plans are.
    """
    began = min(run.batches[0].began_at for run in (fast, slow))
    ended = max(run.batches[-1].ended_at for run in (fast, slow)) - began
    paths = {run.name: _path(topic, run, began, ended) for run in (fast, slow)}
    figure = go.Figure(_band(topic, list(paths.values()), max_drift_ms))
    for run, colour in ((fast, FAST), (slow, SLOW)):
        x, y = zip(*paths[run.name], strict=True)
        line = {"color": colour, "width": 2.5, "shape": "hv"}
        figure.add_trace(
            go.Scatter(x=x, y=y, name=f"{run.name}: has read up to", line=line, mode="lines", **_hover(topic, y))
        )
    figure.add_traces(list(_leads(topic, fast, slow, began, ended, max_drift_ms)))
    figure.update_layout(_layout(topic), showlegend=True, legend=LEGEND)
    figure.update_layout(yaxis={"domain": [0.36, 1]}, yaxis2=_minutes(max_drift_ms), xaxis={"anchor": "y2"})
    figure.update_xaxes(title_text="time since the start of the two queries", range=[0, ended], ticksuffix=" s")
    return figure


def _leads(
    topic: SkewedTopic, fast: Run, slow: Run, began: float, ended: float, max_drift_ms: int
) -> Iterator[go.Scatter]:
    for run, other, colour, symbol in ((fast, slow, FAST, "triangle-up"), (slow, fast, SLOW, "circle")):
        ahead = [(at - began, round(ms / 60_000, 1)) for at, ms in leads(topic, run.plans, other.batches)]
        x, y = [at for at, _ in ahead], [minutes for _, minutes in ahead]
        marker = {"color": colour, "size": 7, "symbol": symbol}
        name = f"{run.name}: plans ahead of {other.name}"
        yield go.Scatter(x=x, y=y, yaxis="y2", name=name, mode="markers", marker=marker, hovertemplate="%{y} min")
    limit = max_drift_ms / 60_000
    line = {"color": LATE, "width": 2, "dash": "dot"}
    yield go.Scatter(
        x=[0, ended], y=[limit, limit], yaxis="y2", name="most allowed", mode="lines", line=line, hoverinfo="skip"
    )


def _minutes(max_drift_ms: int) -> dict[str, object]:
    limit = max_drift_ms / 60_000
    ticks = [0, limit / 2, limit]
    text = [f"{tick:g} min" for tick in ticks]
    return {
        "domain": [0, 0.26],
        "range": [-0.08 * limit, 1.15 * limit],
        "tickvals": ticks,
        "ticktext": text,
        "zeroline": False,
    }


def _splits(topic: SkewedTopic, batches: Sequence[Batch], rows: Sequence[int]) -> Iterator[go.Scatter]:
    drawn = [partition for partition, count in enumerate(topic.counts()) if count]
    for rank, partition in enumerate(drawn):
        x, y = zip(*_split_points(topic, batches, rows, partition), strict=True)
        # Splits of like density lie on top of each other: each leaves dashes of those beneath it
        # free, so that all are seen.
        dash = f"{DASH_PX * (len(drawn) - 1 - rank)}px,{DASH_PX * rank}px" if 0 < rank < len(drawn) - 1 else "solid"
        line = {"color": COLOURS[partition % len(COLOURS)], "width": 5 if partition < drawn[-1] else 2.5, "dash": dash}
        yield go.Scatter(
            x=x, y=y, name=f"p{partition}", meta=f"p{partition}", mode="lines", line=line, **_hover(topic, y)
        )


def _split_points(
    topic: SkewedTopic, batches: Sequence[Batch], rows: Sequence[int], partition: int
) -> Iterator[tuple[int, float]]:
    """From the start of the run: at its first record as long as that is unread, then at the last
    one read. It ends at the end of the split.
    """
    count = topic.counts()[partition]
    first = _hours(topic, topic.event_time(partition, 0))
    yield 0, first
    for batch, after in zip(batches, rows[1:], strict=True):
        time = last_read(topic, batch.ends).get(partition)
        yield after, first if time is None else _hours(topic, time)
        if batch.ends.get(partition) == count:
            return


def _late_zone(topic: SkewedTopic, batches: Sequence[Batch], rows: Sequence[int]) -> list[go.Scatter]:
    """Spark's watermark, batch by batch, and all that is below it."""
    x, y = [rows[0]], [0.0]
    for batch, before, after in zip(batches, rows, rows[1:], strict=False):
        hours = max(0.0, _hours(topic, batch.watermark_ms)) if batch.watermark_ms is not None else 0.0
        x += [before, after]
        y += [hours, hours]
    line = {"color": LATE, "width": 2, "dash": "dot"}
    shape = {"fill": "tozeroy", "fillcolor": LATE_ZONE, "line": line, "mode": "lines"}
    return [go.Scatter(x=x, y=y, name="Spark's watermark", meta="watermark", **shape, **_hover(topic, y))]


def _path(topic: SkewedTopic, run: Run, began: float, ended: float) -> list[tuple[float, float]]:
    """(seconds, hours): the query's position, batch by batch, drawn on to the end of the chart."""
    path = [(0.0, 0.0)]
    for batch in run.batches:
        stands_at = position(topic, batch.ends)
        path.append((batch.ended_at - began, _hours(topic, topic.end_ms if stands_at is None else stands_at)))
    return [*path, (ended, path[-1][1])]


def _band(topic: SkewedTopic, paths: Sequence[Sequence[tuple[float, float]]], max_drift_ms: int) -> list[go.Scatter]:
    """From the one that is behind to `max_drift_ms` above it."""
    moments = sorted({x for path in paths for x, _ in path})
    low = [min(max(y for x, y in path if x <= moment) for path in paths) for moment in moments]
    high = [min(y + max_drift_ms / HOUR_MS, _hours(topic, topic.end_ms)) for y in low]
    unseen = {"mode": "lines", "line": {"width": 0, "shape": "hv"}, "hoverinfo": "skip"}
    name = f"allowed: {span(max_drift_ms)} ahead"
    return [
        go.Scatter(x=moments, y=low, showlegend=False, **unseen),
        go.Scatter(x=moments, y=high, name=name, fill="tonexty", fillcolor=BAND, **unseen),
    ]


def _rows_read(batches: Sequence[Batch]) -> list[int]:
    """Rows read before the first batch, and after each."""
    rows = [0]
    for batch in batches:
        rows.append(rows[-1] + batch.rows)
    return rows


def _hours(topic: SkewedTopic, ms: int) -> float:
    return round((ms - topic.t0_ms) / HOUR_MS, 4)


def _hover(topic: SkewedTopic, hours: Sequence[float]) -> dict[str, object]:
    times = [clock(topic.t0_ms + int(hour * HOUR_MS)) if hour < topic.span_hours else "24:00" for hour in hours]
    return {"text": times, "hovertemplate": "%{text}"}


def _layout(topic: SkewedTopic) -> dict[str, object]:
    hours = list(range(0, int(topic.span_hours) + 1, 3))
    y = {
        "range": [0, topic.span_hours],
        "tickvals": hours,
        "ticktext": [f"{hour:02d}:00" for hour in hours],
        "title": {"text": "event time read up to"},
        "zeroline": False,
    }
    return {
        "template": "none",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 72, "r": 14, "t": 10, "b": 46},
        "hovermode": "x unified",
        "showlegend": False,
        "font": {"family": "inherit", "size": 13},
        "yaxis": y,
        "xaxis": {"zeroline": False, "tickformat": "~s", "nticks": 6},
    }
