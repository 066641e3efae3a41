"""The pictures of a report as plain SVG, without scripts, fonts or requests. Colours are classes of
the page's style sheet, so that the same picture serves a light and a dark page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from lockgate.duration import spoken
from lockgate_spark.logs.names import names
from lockgate_spark.report.findings import Moment, PartitionFindings
from lockgate_spark.report.sentences import clock

_WIDE, _HIGH = 720, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 16, 14, 26
MOST_BARS = 40


@dataclass(frozen=True, slots=True)
class _Frame:
    """The axes of a picture. The horizontal axis has `count` moments, and the vertical axis ends at
    `top`.
    """

    count: int
    top: float

    def x(self, at: float) -> float:
        return _LEFT + (_WIDE - _LEFT - _RIGHT) * at / max(1, self.count)

    def y(self, value: float) -> float:
        return _TOP + (_HIGH - _TOP - _BOTTOM) * (1 - value / self.top)


def lost_over_time(moments: Sequence[Moment]) -> str:
    """Return an SVG bar chart of the number of rows lost in each moment."""
    values = [moment.lost for moment in moments]
    frame = _Frame(len(moments), _nice(max(values, default=0)))
    width = max(1.5, (_WIDE - _LEFT - _RIGHT) / max(1, len(moments)) - 2)
    bars = "".join(
        f'<rect class="lost" x="{frame.x(n) + 1:.1f}" y="{frame.y(value):.1f}" width="{min(width, 48):.1f}" '
        f'height="{frame.y(0) - frame.y(value):.1f}" rx="1.5">'
        f"<title>{clock(moment.at)} UTC: {value:,} rows lost</title></rect>"
        for n, (moment, value) in enumerate(zip(moments, values, strict=True))
        if value
    )
    ticks = [(value, f"{value:,.0f}") for value in (0, frame.top / 2, frame.top)]
    return _picture("Rows lost, batch by batch", frame, ticks, _times(moments, frame) + bars)


def apart_over_time(moments: Sequence[Moment], delay_ms: int | None) -> str:
    """Return an SVG picture of the distance between the partitions over time. If the watermark's
    delay `delay_ms` is not None, a line shows it.
    """
    known = [(n, moment) for n, moment in enumerate(moments) if moment.apart_ms is not None]
    most = max([moment.apart_ms or 0 for _, moment in known] + [delay_ms or 0, 1_000])
    frame = _Frame(len(moments), most * 1.08)
    steps = " ".join(
        f"{frame.x(at):.1f},{frame.y(moment.apart_ms or 0):.1f}" for n, moment in known for at in (n, n + 1)
    )
    drawn = ""
    if known:
        ends = frame.x(known[-1][0] + 1), frame.x(known[0][0])
        bottom = frame.y(0)
        drawn = (
            f'<polygon class="apart-area" points="{steps} {ends[0]:.1f},{bottom:.1f} {ends[1]:.1f},{bottom:.1f}"/>'
            f'<polyline class="apart" points="{steps}"/>'
        )
        drawn += "".join(
            f'<rect class="hover" x="{frame.x(n):.1f}" y="{_TOP}" width="{frame.x(n + 1) - frame.x(n):.1f}" '
            f'height="{_HIGH - _TOP - _BOTTOM}"><title>{clock(moment.at)} UTC: {spoken(moment.apart_ms or 0)} apart'
            "</title></rect>"
            for n, moment in known
        )
    if delay_ms is not None:
        y = frame.y(delay_ms)
        drawn += (
            f'<line class="limit" x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="limit-name" x="{(_LEFT + _WIDE - _RIGHT) / 2}" y="{_HIGH - 8}" text-anchor="middle">'
            f"- - the watermark waits {spoken(delay_ms)}</text>"
        )
    ticks = [(value, spoken(round(value)) if value else "0") for value in (0, most / 2, most)]
    return _picture("Distance between the partitions, batch by batch", frame, ticks, _times(moments, frame) + drawn)


def partition_bars(partitions: Sequence[PartitionFindings]) -> str:
    """Return the rows of an HTML table. Each row has the figures of one partition, and a bar for
    the number of rows lost. Partitions after the first `MOST_BARS` are left out.
    """
    most = max((partition.lost for partition in partitions), default=0) or 1
    keys, rows = [(partition.source, partition.partition) for partition in partitions], []
    called = names(keys, keys)
    for partition in partitions[:MOST_BARS]:
        rows.append(
            f'<tr><th scope="row">{escape(called[partition.source, partition.partition])}</th>'
            f'<td class="bar"><span style="width:{100 * partition.lost / most:.1f}%"></span></td>'
            f"<td>{partition.lost:,}</td><td>{partition.offsets:,}</td><td>{spoken(partition.ahead_ms)}</td></tr>"
        )
    return "".join(rows)


def _picture(title: str, frame: _Frame, ticks: Sequence[tuple[float, str]], drawn: str) -> str:
    grid = "".join(
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{frame.y(value):.1f}" y2="{frame.y(value):.1f}"/>'
        f'<text x="{_LEFT - 8}" y="{frame.y(value) + 4:.1f}" text-anchor="end">{name}</text>'
        for value, name in ticks
    )
    return f'<svg viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="{escape(title)}">{grid}{drawn}</svg>'


def _times(moments: Sequence[Moment], frame: _Frame) -> str:
    if not moments:
        return ""
    ends = [(0, moments[0], "start"), (len(moments), moments[-1], "end")]
    return "".join(
        f'<text x="{frame.x(at):.1f}" y="{_HIGH - 8}" text-anchor="{anchor}">{clock(moment.at)[11:]}</text>'
        for at, moment, anchor in ends[: 2 if len(moments) > 1 else 1]
    )


def _nice(most: int) -> float:
    """Return the top of an axis, an even number with at most two significant digits that is not
    below `most`.
    """
    if most <= 10:
        return max(2, most + most % 2)
    step = int("1" + "0" * (len(str(most)) - 2))
    return next(factor * step for factor in (10, 12, 16, 20, 30, 40, 60, 80, 100) if factor * step >= most)
