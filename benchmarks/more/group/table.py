"""The outcomes as a table and a picture."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from benchmarks.more.group.account import Outcome
from benchmarks.skew.table import HEIGHT, WIDTH
from benchmarks.tables import markdown

COLOURS = {"unaligned": "#d6403a", "strict": "#59a14f", "joint": "#3f8ae0"}
COLUMNS = (
    "queries",
    "read limit",
    "hours of event time a minute",
    "relative to unaligned",
    "furthest apart",
    "batches",
    "plans above the limit",
)


def ratios(outcomes: Sequence[Outcome]) -> Mapping[tuple[int, str], float]:
    """Return the slowest rate relative to that without a group, by size and way."""
    alone = {each.size: each.slowest.rate for each in outcomes if each.way == "unaligned"}
    return {(each.size, each.way): each.slowest.rate / alone[each.size] for each in outcomes if each.size in alone}


def table(outcomes: Sequence[Outcome]) -> str:
    """Return a Markdown table with a row for each run."""
    to_alone, rows = ratios(outcomes), []
    for each in outcomes:
        ratio = to_alone.get((each.size, each.way))
        cells = [
            str(each.size),
            each.way,
            f"{each.slowest.rate:.2f}",
            "–" if ratio is None else f"{ratio:.2f}",
            span(each.peak_drift_hours),
            str(sum(drain.batches for drain in each.drains)),
            "–" if each.way == "unaligned" else f"{each.above_told + each.above_announced} of {each.planned}",
        ]
        rows.append(cells)
    return markdown(COLUMNS, rows)


def span(hours: float) -> str:
    """`7.3 h`, `12 min`, `30 s`."""
    if hours >= 2:
        return f"{hours:.1f} h"
    return f"{60 * hours:.0f} min" if hours >= 1 / 20 else f"{3600 * hours:.0f} s"


def chart(outcomes: Sequence[Outcome], max_drift: str) -> go.Figure:
    """Drift over time, a panel for each number of queries."""
    sizes = list(dict.fromkeys(each.size for each in outcomes))
    figure = make_subplots(
        rows=1, cols=len(sizes), shared_yaxes=True, subplot_titles=[f"{size} queries" for size in sizes]
    )
    for each in outcomes:
        x, y = zip(*each.drift, strict=True)
        line = {"color": COLOURS[each.way], "shape": "hv", "width": 2.5}
        first = each.size == sizes[0]
        where = {"row": 1, "col": sizes.index(each.size) + 1}
        figure.add_scatter(
            x=x, y=y, name=each.way, legendgroup=each.way, showlegend=first, mode="lines", line=line, **where
        )
    figure.update_xaxes(title_text="seconds since the start", rangemode="tozero")
    figure.update_yaxes(title_text=f"foremost to last query, hours (max_drift {max_drift})", rangemode="tozero", col=1)
    legend = {"orientation": "h", "y": 1.12, "yanchor": "bottom", "x": 0}
    return figure.update_layout(
        template="plotly_white", width=WIDTH, height=HEIGHT, legend=legend, margin={"l": 60, "r": 20, "t": 80, "b": 50}
    )
