"""The outcomes as a table and a picture."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from benchmarks.skew.queries import Outcome
from benchmarks.tables import markdown

NATIVE, ALIGNED = "#d6403a", "#3f8ae0"
WIDTH, HEIGHT = 1180, 520
COLUMNS = (
    "shape",
    "rows",
    "lost, plain",
    "lost, aligned",
    "apart, plain",
    "apart, aligned",
    "look-ups per plan",
    "s, plain",
    "s, aligned",
)

Pairs = Sequence[tuple[Outcome, Outcome]]
"""Plain Spark and aligned, shape by shape."""


def table(pairs: Pairs) -> str:
    """Return a Markdown table with a row for each shape; look-ups are their median and the most."""
    return markdown(COLUMNS, (_row(native, aligned) for native, aligned in pairs))


def _row(native: Outcome, aligned: Outcome) -> list[str]:
    return [
        native.shape,
        f"{native.rows:,}",
        f"{native.rows_lost:,} ({_share(native):.1f} %)",
        f"{aligned.rows_lost:,}",
        duration(native.drift_ms),
        duration(aligned.drift_ms),
        f"{aligned.median_look_ups:g}, {max(aligned.look_ups)}",
        f"{native.seconds:.1f}",
        f"{aligned.seconds:.1f}",
    ]


def duration(ms: int) -> str:
    """`7 h 12 min`, `3 min`, `0.4 s`."""
    if ms >= 3_600_000:
        return f"{ms // 3_600_000} h {ms // 60_000 % 60} min"
    return f"{ms // 60_000} min" if ms >= 60_000 else f"{ms / 1000:g} s"


def chart(pairs: Pairs) -> go.Figure:
    """Rows lost and drift, a bar for each way of reading."""
    figure = make_subplots(cols=2, shared_yaxes=True, horizontal_spacing=0.04)
    # the first one is drawn lowest
    for n, name, colour in ((1, "aligned", ALIGNED), (0, "plain Spark", NATIVE)):
        of = [pair[n] for pair in reversed(pairs)]
        labels = [each.shape for each in of]
        more = {
            "orientation": "h",
            "name": name,
            "legendgroup": name,
            "marker": {"color": colour},
            "textposition": "outside",
            "y": labels,
        }
        lost = [_share(each) for each in of]
        figure.add_bar(x=lost, text=[f"{share:.1f} %" if share else "0" for share in lost], **more, row=1, col=1)
        hours = [each.drift_ms / 3_600_000 for each in of]
        figure.add_bar(x=hours, text=[duration(each.drift_ms) for each in of], showlegend=False, **more, row=1, col=2)
    figure.update_xaxes(
        title_text="rows lost, % of all", range=[0, 1.25 * max(_share(n) for n, _ in pairs) + 1], row=1, col=1
    )
    figure.update_xaxes(
        title_text="partitions apart at a batch boundary, hours, at most", range=[0, 31], dtick=6, row=1, col=2
    )
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "reversed"}
    figure.update_layout(template="plotly_white", width=WIDTH, height=HEIGHT, bargap=0.28, legend=legend)
    figure.update_layout(
        margin={"l": 10, "r": 20, "t": 40, "b": 50}, font={"size": 14}, yaxis={"automargin": True, "ticksuffix": "  "}
    )
    return figure


def picture(figure: go.Figure, png: Path) -> bool:
    """Draws the figure with a Chromium; False where this machine has none."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        style = "<style>body { margin: 0; overflow: hidden }</style>"
        page.write_text(
            style + figure.to_html(include_plotlyjs=True, full_html=False, config={"displayModeBar": False}),
            encoding="utf-8",
        )
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--window-size={WIDTH},{figure.layout.height or HEIGHT}",
        ]
        command = [browser, *flags, f"--user-data-dir={folder}/profile", "--virtual-time-budget=5000"]
        shot = [*command, f"--screenshot={png.absolute()}", page.as_uri()]
        subprocess.run(shot, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    return True


def _share(outcome: Outcome) -> float:
    return 100 * outcome.rows_lost / outcome.rows
