"""The outcomes as a table and a picture."""

from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from benchmarks.live.account import TOLERANCE_S, Outcome, Way, more_at
from benchmarks.skew.table import ALIGNED, NATIVE, WIDTH
from benchmarks.tables import markdown

COLUMNS = (
    "producers and trigger",
    "plain Spark",
    "aligned",
    "added",
    "allowed",
    "lost, plain",
    "lost, aligned",
)
ROW_PX, FRAME_PX = 42, 130


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the figures as Markdown: how far behind the partitions on time are, and how much more
    with alignment; then the rows of all.
    """
    return markdown(COLUMNS, map(_row, outcomes))


def _row(of: Outcome) -> list[str]:
    return [
        of.case,
        f"{seconds(of.native.others.p50)}, {seconds(of.native.others.p99)}",
        f"{seconds(of.aligned.others.p50)}, {seconds(of.aligned.others.p99)}",
        f"{seconds(more_at(of, 'p50'), '+')}, {seconds(more_at(of, 'p99'), '+')}",
        seconds(of.may_wait_s) if of.may_wait_s else "0",
        _lost(of.native),
        _lost(of.aligned),
    ]


def seconds(found: float | None, sign: str = "-") -> str:
    """`0.31`, `20.5`, `10,790`; an en dash where there is none. `sign` as in a format: "+" shows it
    always.
    """
    if found is None:
        return "–"
    return format(found, f"{sign},.2f" if abs(found) < 10 else f"{sign},.1f" if abs(found) < 100 else f"{sign},.0f")


def _lost(of: Way) -> str:
    return f"{of.lost:,} of {of.rows:,}" if of.lost else "0"


def chart(outcomes: Sequence[Outcome]) -> go.Figure:
    """Seconds behind (a dot at the median, a line to p99) and the share of rows lost."""
    figure = make_subplots(cols=2, shared_yaxes=True, horizontal_spacing=0.04, column_widths=[0.68, 0.32])
    names = [of.case for of in outcomes]
    for name, colour, ways in (
        ("plain Spark", NATIVE, [of.native for of in outcomes]),
        ("aligned", ALIGNED, [of.aligned for of in outcomes]),
    ):
        p50, p99 = ([getattr(each.others, rank) for each in ways] for rank in ("p50", "p99"))
        to_p99 = [None if low is None or high is None else high - low for low, high in zip(p50, p99, strict=True)]
        more = {"y": names, "name": name, "legendgroup": name}
        marker, bar = (
            {"color": colour, "size": 11},
            {"type": "data", "symmetric": False, "array": to_p99, "color": colour, "thickness": 2},
        )
        figure.add_scatter(x=p50, mode="markers", marker=marker, error_x=bar, **more, row=1, col=1)
        share = [100 * each.lost / max(1, each.rows) for each in ways]
        text = [f"{each:.1f} %" if each else "0" for each in share]
        shown = {
            "orientation": "h",
            "marker": {"color": colour},
            "text": text,
            "textposition": "outside",
            "showlegend": False,
        }
        figure.add_bar(x=share, **shown, **more, row=1, col=2)
    may = [
        None if of.native.others.p99 is None else of.native.others.p99 + of.may_wait_s + TOLERANCE_S for of in outcomes
    ]
    mark = {"symbol": "line-ns-open", "size": 20, "color": "#777", "line": {"width": 2}}
    figure.add_scatter(x=may, y=names, mode="markers", marker=mark, name="allowed for aligned p99", row=1, col=1)
    figure.update_xaxes(
        title_text="partitions on time: seconds from creation to foreachBatch, p50 to p99",
        type="log",
        dtick=1,
        row=1,
        col=1,
    )
    figure.update_xaxes(title_text="rows lost, %", range=[0, 115], row=1, col=2)
    figure.update_yaxes(autorange="reversed", automargin=True, ticksuffix="  ")
    legend = {"orientation": "h", "y": 1.01, "yanchor": "bottom", "x": 0}
    height = FRAME_PX + ROW_PX * len(outcomes)
    figure.update_layout(
        template="plotly_white", width=WIDTH, height=height, bargap=0.3, legend=legend, font={"size": 13}
    )
    return figure.update_layout(margin={"l": 10, "r": 20, "t": 50, "b": 60}, scattermode="group")
