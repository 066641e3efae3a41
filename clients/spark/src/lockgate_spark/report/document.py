"""The findings as JSON for programs, and as one HTML page without scripts and without requests to
other hosts, whose pictures are plain SVG. Colours are classes of the page's style sheet, for a
light and a dark page.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from importlib.resources import files
from string import Template

from lockgate.duration import spoken
from lockgate.watermark import iso
from lockgate_spark.report import sentences
from lockgate_spark.report.findings import Findings, Moment, advice, kept
from lockgate_spark.report.sentences import clock, names_of

SCHEMA, VERSION = "lockgate-observed", 1
"""Fields may be added to a version. Removing one or changing its meaning needs a new version."""

_WIDE, _HIGH = 720, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 16, 14, 26
_MOST_BARS = 40


def text(found: Findings) -> str:
    """Return the findings of one run as JSON text, with durations in ms and times in ISO 8601."""
    document = {
        "schema": SCHEMA,
        "version": VERSION,
        "query": {"name": found.query, "id": found.query_id, "run_id": found.run_id},
        "state": found.state.value,
        "began": iso(int(found.began * 1000)),
        "until": iso(int(found.until * 1000)),
        "summary": sentences.paragraph(found),
        "rows": {
            "read": found.rows,
            "lost": asdict(found.loss) | {"exact": found.loss.exact, "basis": found.loss.basis.value},
            "dropped_by_operator": dict(found.operators),
            "oldest_lost_by_ms": found.lateness_ms,
            "kept_in": found.late_rows_path,
        },
        "kept_by_alignment": asdict(kept(found)),
        "batches": {"read": found.batches, "ahead_of_plan": found.ahead, "offsets_ahead": found.offsets_ahead},
        "busy_ms": round(found.busy_s * 1000),
        "watermark_delay_ms": found.delay_ms,
        "max_drift_ms": found.max_drift_ms,
        "most_apart_ms": found.apart_ms,
        "out_of_orderness_ms": found.out_of_orderness_ms,
        "advice": [asdict(each) for each in advice(found)],
        "not_known": sentences.unknown(found),
        "sources": [asdict(each) for each in found.sources],
        "partitions": [
            {name: getattr(each, name) for name in ("source", "partition", "offsets", "lost", "ahead_ms")}
            | {name: None if at is None else iso(at) for name, at in (("first", each.first), ("last", each.last))}
            for each in found.partitions
        ],
        "timeline": [
            asdict(each)
            | {"at": iso(int(each.at * 1000)), "watermark": iso(each.watermark) if each.watermark else None}
            for each in found.moments
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def page(found: Findings) -> str:
    figures = (
        ("rows read", f"{found.rows:,}"),
        ("most apart", "–" if found.apart_ms is None else spoken(found.apart_ms)),
        ("the watermark waits", "–" if found.delay_ms is None else spoken(found.delay_ms)),
    )
    template = Template(files("lockgate_spark.report").joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        tone="none" if found.loss.most == 0 else "some",
        headline=escape(sentences.headline(found)),
        meaning=escape(sentences.meaning(found)),
        saving=escape(sentences.saving(found)),
        state=escape(sentences.state(found)),
        figures="".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures),
        lost=_lost_over_time(found.moments)
        if any(each.lost for each in found.moments)
        else f'<p class="nothing">{"Lost rows were not counted." if found.uncounted else "No row was lost."}</p>',
        where=escape(f"{sentences.where(found)} {sentences.table(found)}".strip()),
        apart=_apart_over_time(found.moments, found.delay_ms),
        why=escape(sentences.why(found)),
        partitions=_partition_bars(found),
        advice="".join(
            f"<tr><th scope='row'><code>{escape(each.option)}</code></th>"
            f"<td><b>{escape(each.value or '–')}</b></td><td>{escape(each.why)}.</td></tr>"
            for each in advice(found)
        ),
        unknown="".join(f"<li>{escape(each)}</li>" for each in sentences.unknown(found)),
        plans=escape(sentences.plans(found)),
    )


@dataclass(frozen=True, slots=True)
class _Picture:
    """The axes of a picture, of moments and of values up to `top`."""

    moments: Sequence[Moment]
    top: float

    def x(self, at: float) -> float:
        return _LEFT + (_WIDE - _LEFT - _RIGHT) * at / max(1, len(self.moments))

    def y(self, value: float) -> float:
        return _TOP + (_HIGH - _TOP - _BOTTOM) * (1 - value / self.top)

    def svg(self, title: str, name: Callable[[float], str], drawn: str) -> str:
        """Return the picture with `drawn` in it. `name` makes the text of a value."""
        grid = "".join(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{self.y(value):.1f}" y2="{self.y(value):.1f}"/>'
            f'<text x="{_LEFT - 8}" y="{self.y(value) + 4:.1f}" text-anchor="end">{name(value)}</text>'
            for value in (0, self.top / 2, self.top)
        )
        ends = ((0, "start", self.moments[:1]), (len(self.moments), "end", self.moments[1:][-1:]))
        times = "".join(
            f'<text x="{self.x(at):.1f}" y="{_HIGH - 8}" text-anchor="{anchor}">{clock(moment.at)[11:]}</text>'
            for at, anchor, found in ends
            for moment in found
        )
        return f'<svg viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="{escape(title)}">{grid}{times}{drawn}</svg>'


def _lost_over_time(moments: Sequence[Moment]) -> str:
    most = max([2, *(moment.lost for moment in moments)])
    frame = _Picture(moments, most + most % 2)
    width = max(1.5, (_WIDE - _LEFT - _RIGHT) / max(1, len(moments)) - 2)
    bars = "".join(
        f'<rect class="lost" x="{frame.x(n) + 1:.1f}" y="{frame.y(moment.lost):.1f}" width="{min(width, 48):.1f}" '
        f'height="{frame.y(0) - frame.y(moment.lost):.1f}" rx="1.5">'
        f"<title>{clock(moment.at)} UTC: {moment.lost:,} rows lost</title></rect>"
        for n, moment in enumerate(moments)
        if moment.lost
    )
    return frame.svg("Rows lost, batch by batch", "{:,.0f}".format, bars)


def _apart_over_time(moments: Sequence[Moment], delay_ms: int | None) -> str:
    known = [(n, moment) for n, moment in enumerate(moments) if moment.apart_ms is not None]
    frame = _Picture(moments, max([moment.apart_ms or 0 for _, moment in known] + [delay_ms or 0, 1_000]))
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
    return frame.svg("Distance between the partitions, batch by batch", lambda ms: spoken(round(ms)), drawn)


def _partition_bars(found: Findings) -> str:
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
