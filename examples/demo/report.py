"""The report: one HTML file that needs nothing else, with the charts and the plotting code
inside.
"""

from html import escape
from pathlib import Path
from string import Template
from typing import Any

import plotly.graph_objects as go
from examples.demo.charts import COLOURS, LATE, query_chart, split_chart
from examples.demo.summary import Runs
from examples.demo.times import span
from plotly.offline import get_plotlyjs

PAGE = Path(__file__).with_name("report.html")


def render(runs: Runs, summary: dict[str, Any]) -> str:
    """Return the whole page."""
    native, aligned, two = summary["plain_spark"], summary["aligned"], summary["two_queries"]
    charts = {
        "native": split_chart(runs.topic, runs.native[0]),
        "aligned": split_chart(runs.topic, runs.aligned[0]),
        "queries": query_chart(runs.topic, runs.fast, runs.slow, two["max_drift_ms"]),
    }
    return Template(PAGE.read_text(encoding="utf-8")).substitute(
        plotly=get_plotlyjs(),
        figures=_figures(charts),
        chips=_chips(runs.topic.counts()),
        records=f"{summary['records']:,}",
        native_lost=f"{native['rows_lost']:,}",
        native_share=f"{100 * native['rows_lost'] / native['rows_in']:.1f} %",
        native_reported=f"{native['spark_reported_dropped']:,}",
        native_drift=span(native["peak_drift_ms"]),
        native_seconds=f"{native['seconds']:.1f}",
        native_each=_each(native),
        aligned_each=_each(aligned),
        aligned_lost=f"{aligned['rows_lost']:,}",
        aligned_drift=span(aligned["peak_drift_ms"]),
        aligned_seconds=f"{aligned['seconds']:.1f}",
        two_drift=span(two["peak_drift_ms"]),
        two_allowed=span(two["max_drift_ms"]),
        aligned_class="bad" if aligned["rows_lost"] else "good",
        two_class="bad" if two["peak_drift_ms"] > two["max_drift_ms"] else "good",
        command=escape(summary["command"]),
        versions=escape(", ".join(f"{name} {version}" for name, version in summary["versions"].items())),
    )


def _figures(charts: dict[str, go.Figure]) -> str:
    figures = ",".join(f'"{name}":{chart.to_json()}' for name, chart in charts.items())
    # Within a script element `</` would end it.
    return "{" + figures.replace("</", "<\\/") + "}"


def _each(part: dict[str, Any]) -> str:
    return " and ".join(f"{seconds:.1f}" for seconds in part["seconds_of_each"])


def _chips(counts: list[int]) -> str:
    """Return the legend of both panels, to be clicked."""
    chips = [_chip("watermark", LATE, "Spark's watermark; red below: too late")]
    for partition, count in enumerate(counts):
        if count:
            late = ", starts at 06:00" if partition == len(counts) - 1 else ""
            chips.append(
                _chip(
                    f"p{partition}",
                    COLOURS[partition % len(COLOURS)],
                    f"p{partition} <small>{count:,} records{late}</small>",
                )
            )
    return "\n".join(chips)


def _chip(key: str, colour: str, label: str) -> str:
    return (
        f'<button class="chip" type="button" aria-pressed="true" data-key="{key}"><i '
        f'style="background:{colour}"></i>{label}</button>'
    )
