"""The outcomes as a table and a picture."""

from collections.abc import Iterator, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from benchmarks.flink.account import (
    BEST,
    DEFAULTS,
    LOCKGATE,
    LONGER,
    PLAIN,
    SYSTEMS,
    UNALIGNED,
    Outcome,
    median,
)
from benchmarks.skew.table import ALIGNED, NATIVE, WIDTH, duration
from benchmarks.tables import markdown, spread

COLOURS = {
    PLAIN: NATIVE,
    LONGER: "#e8a33d",
    LOCKGATE: ALIGNED,
    UNALIGNED: "#b5b5b5",
    DEFAULTS: "#8e6bbf",
    BEST: "#59a14f",
}
COLUMNS = (
    "workload: system",
    "rows lost",
    "apart, at most",
    "beyond the drift",
    "rows in open windows, to the least",
    "records/s by the clock",
    "by processor time",
    "hours of event time/min",
)
ROW_PX, FRAME_PX = 20, 150


def table(outcomes: Sequence[Outcome]) -> str:
    """Return a Markdown table with a row for each workload and system."""
    of = [(workload, system, _runs(runs, system)) for workload, runs in _by_workload(outcomes) for system in SYSTEMS]
    return markdown(COLUMNS, (_row(f"{workload}: {system}", runs) for workload, system, runs in of if runs))


def _row(name: str, runs: Sequence[Outcome]) -> list[str]:
    return [
        name,
        _lost(runs),
        duration(int(median(runs, "drift_ms"))),
        _share(runs),
        f"{_to_least(runs):.2f}",
        _spread(runs, "by_clock"),
        _spread(runs, "by_processor"),
        f"{median(runs, 'hours_a_minute'):,.1f}",
    ]


def _runs(outcomes: Sequence[Outcome], system: str) -> list[Outcome]:
    return [each for each in outcomes if each.system == system]


def _spread(runs: Sequence[Outcome], figure: str) -> str:
    found = [float(getattr(each, figure)) for each in runs]
    return spread(found) if len(found) > 1 else f"{found[0]:,.0f}"


def _lost(runs: Sequence[Outcome]) -> str:
    ended = [each for each in runs if each.lost is not None]
    if not ended:
        return "not read to its end"
    lost = median(ended, "lost")
    return f"{lost:,.0f} ({100 * lost / ended[0].rows:.1f} %)" if lost else "0"


def _share(runs: Sequence[Outcome]) -> str:
    share = _beyond(runs)
    return f"{share:.1f} %" if share else "0"


def _beyond(runs: Sequence[Outcome]) -> float:
    return 100 * median(runs, "beyond") / runs[0].records


def _to_least(runs: Sequence[Outcome]) -> float:
    return median(runs, "open_rows") / runs[0].least_open_rows


def _by_workload(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, list[Outcome]]]:
    for workload in dict.fromkeys(each.workload for each in outcomes):
        yield workload, [each for each in outcomes if each.workload == workload]


def chart(outcomes: Sequence[Outcome]) -> go.Figure:
    """Rows lost, records beyond the drift and rows in open windows, a bar for each system."""
    figure = make_subplots(cols=3, shared_yaxes=True, horizontal_spacing=0.03)
    workloads = [name for name, _ in _by_workload(outcomes)]
    most = 1.0
    for system in SYSTEMS:
        runs = [_runs(of, system) for _, of in _by_workload(outcomes)]
        lost = [
            100 * (median(each, "lost") if each and each[0].lost else 0) / each[0].rows if each else None
            for each in runs
        ]
        beyond = [_beyond(each) if each else None for each in runs]
        kept = [_to_least(each) if each else None for each in runs]
        most = max(most, *(each or 0 for each in kept))
        for n, (values, form) in enumerate(((lost, "{:.0f} %"), (beyond, "{:.0f} %"), (kept, "{:.1f}")), 1):
            text = ["" if value is None else form.format(value) if value else "0" for value in values]
            more = {"name": system, "legendgroup": system, "showlegend": n == 1, "textposition": "outside"}
            marker = {"color": COLOURS[system]}
            figure.add_bar(x=values, y=workloads, orientation="h", text=text, marker=marker, **more, row=1, col=n)
    for n, title in enumerate(("rows lost, %", "records beyond the drift, %", "rows in open windows, to the least"), 1):
        figure.update_xaxes(title_text=title, row=1, col=n, rangemode="tozero")
    figure.update_xaxes(range=[0, 115], col=1).update_xaxes(range=[0, 115], col=2).update_xaxes(
        range=[0, 1.15 * most], col=3
    )
    figure.update_yaxes(autorange="reversed", automargin=True, ticksuffix="  ")
    legend = {"orientation": "h", "y": 1.01, "yanchor": "bottom", "x": 0}
    height = FRAME_PX + ROW_PX * len(SYSTEMS) * len(workloads)
    figure.update_layout(template="plotly_white", width=WIDTH, height=height, bargap=0.2, legend=legend)
    return figure.update_layout(margin={"l": 10, "r": 20, "t": 60, "b": 50}, font={"size": 13})
