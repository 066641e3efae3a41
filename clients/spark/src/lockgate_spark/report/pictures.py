"""The pictures of a report as plain SVG, without scripts, fonts or requests. Colours are classes of
the page's style sheet, so that the same picture serves a light and a dark page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from lockgate.duration import spoken
from lockgate_spark.report.findings import Findings, Moment
from lockgate_spark.report.sentences import clock, names_of

_WIDE, _HIGH = 720, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 16, 14, 26
_MOST_BARS = 40


@dataclass(frozen=True, slots=True)
class _Frame:
    """The axes of a picture, of `count` moments and of values up to `top`."""

    count: int
    top: float

    def x(self, at: float) -> float:
        return _LEFT + (_WIDE - _LEFT - _RIGHT) * at / max(1, self.count)

    def y(self, value: float) -> float:
        return _TOP + (_HIGH - _TOP - _BOTTOM) * (1 - value / self.top)


def lost_over_time(moments: Sequence[Moment]) -> str:
    """Return an SVG bar chart of the number of rows lost in each moment."""
    frame = _Frame(len(moments), _nice(max((moment.lost for moment in moments), default=0)))
    width = max(1.5, (_WIDE - _LEFT - _RIGHT) / max(1, len(moments)) - 2)
    bars = "".join(
        f'<rect class="lost" x="{frame.x(n) + 1:.1f}" y="{frame.y(moment.lost):.1f}" width="{min(width, 48):.1f}" '
        f'height="{frame.y(0) - frame.y(moment.lost):.1f}" rx="1.5">'
        f"<title>{clock(moment.at)} UTC: {moment.lost:,} rows lost</title></rect>"
        for n, moment in enumerate(moments)
        if moment.lost
    )
    ticks = [(value, f"{value:,.0f}") for value in (0, frame.top / 2, frame.top)]
    return _picture("Rows lost, batch by batch", frame, ticks, _times(moments, frame) + bars)


def apart_over_time(moments: Sequence[Moment], delay_ms: int | None) -> str:
    """Return an SVG picture of the distance between the partitions over time. A line shows the
    watermark's delay, if there is one.
    """
    known = [(n, moment) for n, moment in enumerate(moments) if moment.apart_ms is not None]
    most = max([moment.apart_ms or 0 for _, moment in known] + [delay_ms or 0, 1_000])
    frame = _Frame(len(moments), most * 1.08)
    steps = " ".join(
        f"{frame.x(at):.1f},{frame.y(moment.apart_ms or 0):.1f}" for n, moment in known for at in (n, n + 1)
    )
    drawn = "".join(
        f'<rect class="hover" x="{frame.x(n):.1f}" y="{_TOP}" width="{frame.x(n + 1) - frame.x(n):.1f}" '
        f'height="{_HIGH - _TOP - _BOTTOM}"><title>{clock(moment.at)} UTC: {spoken(moment.apart_ms or 0)} apart'
        "</title></rect>"
        for n, moment in known
    )
    if known:
        bottom, last, first = frame.y(0), frame.x(known[-1][0] + 1), frame.x(known[0][0])
        area = f"{steps} {last:.1f},{bottom:.1f} {first:.1f},{bottom:.1f}"
        drawn = f'<polygon class="apart-area" points="{area}"/><polyline class="apart" points="{steps}"/>{drawn}'
    if delay_ms is not None:
        y = frame.y(delay_ms)
        drawn += (
            f'<line class="limit" x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="limit-name" x="{(_LEFT + _WIDE - _RIGHT) / 2}" y="{_HIGH - 8}" text-anchor="middle">'
            f"- - the watermark waits {spoken(delay_ms)}</text>"
        )
    ticks = [(value, spoken(round(value)) if value else "0") for value in (0, most / 2, most)]
    return _picture("Distance between the partitions, batch by batch", frame, ticks, _times(moments, frame) + drawn)


def partition_bars(found: Findings) -> str:
    """Return an HTML table of the partitions, those with the most lost rows first, each with a bar
    for them. Partitions after the first 40 are only counted.
    """
    partitions = sorted(found.partitions, key=lambda each: (-each.lost, -each.ahead_ms, each.source, each.partition))
    most, called = max((each.lost for each in partitions), default=0) or 1, names_of(found)
    rows = "".join(
        f'<tr><th scope="row">{escape(called[each.source, each.partition])}</th>'
        f'<td class="bar"><span style="width:{100 * each.lost / most:.1f}%"></span></td>'
        f"<td>{each.lost:,}</td><td>{each.offsets:,}</td><td>{spoken(each.ahead_ms)}</td></tr>"
        for each in partitions[:_MOST_BARS]
    )
    more = len(partitions) - _MOST_BARS
    return (
        '<div class="wide"><table><thead><tr><th>partition</th><th class="bar">lost</th>'
        "<th>rows</th><th>offsets read</th><th>most ahead by</th></tr></thead><tbody>"
        f"{rows}</tbody></table></div>{f'<p>{more:,} more partitions are in the JSON.</p>' if more > 0 else ''}"
    )


def _picture(title: str, frame: _Frame, ticks: Sequence[tuple[float, str]], drawn: str) -> str:
    grid = "".join(
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{frame.y(value):.1f}" y2="{frame.y(value):.1f}"/>'
        f'<text x="{_LEFT - 8}" y="{frame.y(value) + 4:.1f}" text-anchor="end">{name}</text>'
        for value, name in ticks
    )
    return f'<svg viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="{escape(title)}">{grid}{drawn}</svg>'


def _times(moments: Sequence[Moment], frame: _Frame) -> str:
    ends = [(0, moment, "start") for moment in moments[:1]]
    ends += [(len(moments), moment, "end") for moment in moments[1:][-1:]]
    return "".join(
        f'<text x="{frame.x(at):.1f}" y="{_HIGH - 8}" text-anchor="{anchor}">{clock(moment.at)[11:]}</text>'
        for at, moment, anchor in ends
    )


def _nice(most: int) -> float:
    """Return the top of an axis: an even number of two significant digits, `most` or above."""
    if most <= 10:
        return max(2, most + most % 2)
    step = int("1" + "0" * (len(str(most)) - 2))
    return next(factor * step for factor in (10, 12, 16, 20, 30, 40, 60, 80, 100) if factor * step >= most)
