"""The findings as one HTML page without scripts and without requests to other hosts."""

from html import escape
from importlib.resources import files
from string import Template

from lockgate.duration import spoken
from lockgate_spark.report import sentences
from lockgate_spark.report.advice import advice
from lockgate_spark.report.findings import Findings
from lockgate_spark.report.pictures import apart_over_time, lost_over_time, partition_bars


def page(found: Findings) -> str:
    """Return the HTML page of one run."""
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
        lost=lost_over_time(found.moments)
        if any(each.lost for each in found.moments)
        else f'<p class="nothing">{"Lost rows were not counted." if found.uncounted else "No row was lost."}</p>',
        where=escape(f"{sentences.where(found)} {sentences.table(found)}".strip()),
        apart=apart_over_time(found.moments, found.delay_ms),
        why=escape(sentences.why(found)),
        partitions=partition_bars(found),
        advice="".join(
            f"<tr><th scope='row'><code>{escape(each.option)}</code></th>"
            f"<td><b>{escape(each.value or '–')}</b></td><td>{escape(each.why)}.</td></tr>"
            for each in advice(found)
        ),
        unknown="".join(f"<li>{escape(each)}</li>" for each in sentences.unknown(found)),
        plans=escape(sentences.plans(found)),
    )
