"""The growth of costs as pictures, light and dark, drawn as the other benchmarks' are."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from benchmarks.skew.table import WIDTH, picture

PANELS = {
    "readers": ("a report, and what concerns all readers", ("readers", "live", "redis")),
    "splits": ("splits that the coordinator assigns", ("splits",)),
    "groups": ("groups of one coordinator", ("groups", "redis-groups")),
    "plans": ("a plan, without Kafka's answers", ("plans",)),
}
COLOURS = ("#3f8ae0", "#d6403a", "#3aa35b", "#b07d2b", "#8e5bd0", "#777777")
TEMPLATES = {"": ("plotly_white", "#ffffff", "#444444"), "-dark": ("plotly_dark", "#161b22", "#c9d1d9")}


def chart(rows: Sequence[Mapping[str, Any]], dark: str) -> go.Figure:
    """Return the costs by size in log-log, a panel for each kind of size, with the exponents."""
    panels = [
        (title, [row for row in rows if row["sweep"] in sweeps])
        for title, sweeps in PANELS.values()
        if any(row["sweep"] in sweeps for row in rows)
    ]
    high = -(-len(panels) // 2)
    figure = make_subplots(
        rows=high, cols=2, subplot_titles=[title for title, _ in panels], horizontal_spacing=0.09, vertical_spacing=0.14
    )
    for place, (_, of_panel) in enumerate(panels):
        at = {"row": place // 2 + 1, "col": place % 2 + 1}
        all_ms = [1e3 * each["s"] for row in of_panel for each in row["costs"]]
        room = [math.log10(min(all_ms)) - 0.3, math.log10(max(all_ms)) + 1.3]  # the legend is at the top
        for colour, row in zip(COLOURS, of_panel, strict=False):
            costs = row["costs"]
            ms = [1e3 * each["s"] for each in costs]
            figure.add_scatter(
                x=[each["size"] for each in costs],
                y=ms,
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": [1e3 * (each["most"] - each["s"]) for each in costs],
                    "arrayminus": [1e3 * (each["s"] - each["least"]) for each in costs],
                    "thickness": 1.5,
                },
                mode="lines+markers",
                line={"color": colour, "width": 2},
                name=f"{row['operation']}: {row['last_decade']['median']:.2f}",
                legend="legend" if not place else f"legend{place + 1}",
                **at,
            )
        figure.update_xaxes(title_text=min((row["axis"] for row in of_panel), key=len), type="log", dtick=1, **at)
        figure.update_yaxes(title_text="ms", type="log", dtick=1, exponentformat="none", range=room, **at)
        domain = figure.layout[f"xaxis{place + 1 if place else ''}"].domain
        up = figure.layout[f"yaxis{place + 1 if place else ''}"].domain
        legend = {"x": domain[0] + 0.01, "y": up[1] - 0.005, "xanchor": "left", "yanchor": "top", "font": {"size": 11}}
        figure.update_layout({"legend" if not place else f"legend{place + 1}": {**legend, "bgcolor": "rgba(0,0,0,0)"}})
    template, paper, ink = TEMPLATES[dark]
    figure.update_layout(template=template, paper_bgcolor=paper, plot_bgcolor=paper, font={"size": 13, "color": ink})
    return figure.update_layout(width=WIDTH, height=90 + 400 * high, margin={"l": 10, "r": 20, "t": 50, "b": 60})


def draw(rows: Sequence[Mapping[str, Any]], out: Path) -> list[str]:
    """Draw both pictures, and return their names. There is none without a Chromium, or without a
    sweep that has a panel.
    """
    if not any(row["sweep"] in sweeps for row in rows for _, sweeps in PANELS.values()):
        return []
    names = [f"scale{dark}.png" for dark in TEMPLATES]
    return [name for dark, name in zip(TEMPLATES, names, strict=True) if picture(chart(rows, dark), out / name)]
