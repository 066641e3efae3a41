"""The findings as JSON, for programs. docs/guide/measure.md lists the fields. Fields may be added
without a new version; removing one or changing its meaning needs a new version.
"""

import json
from dataclasses import asdict
from datetime import datetime, timezone

from lockgate_spark.report import sentences
from lockgate_spark.report.advice import advice, kept
from lockgate_spark.report.findings import Findings

SCHEMA, VERSION = "lockgate-observed", 1


def text(found: Findings) -> str:
    """Return the findings of one run as JSON text, with durations in ms and times in ISO 8601."""
    document = {
        "schema": SCHEMA,
        "version": VERSION,
        "query": {"name": found.query, "id": found.query_id, "run_id": found.run_id},
        "state": found.state.value,
        "began": _iso(found.began),
        "until": _iso(found.until),
        "summary": sentences.paragraph(found),
        "rows": {
            "read": found.rows,
            "lost": {
                "least": found.loss.least,
                "most": found.loss.most,
                "exact": found.loss.exact,
                "basis": found.loss.basis.value,
            },
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
            | {"first": _moment(each.first), "last": _moment(each.last)}
            for each in found.partitions
        ],
        "timeline": [
            {**asdict(each), "at": _iso(each.at), "watermark": _moment(each.watermark or None)}
            for each in found.moments
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _moment(event_time: int | None) -> str | None:
    return None if event_time is None else _iso(event_time / 1000)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
