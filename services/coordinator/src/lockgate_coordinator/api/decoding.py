"""Decodes reports with a compiled decoder, straight into the core's events. Unusual bodies are left
to the core's codec.

`msgspec` checks types only, so ranges and names are checked here. None means that the body is not
plainly a report: it has a fault, a null, a number beyond 64 bits, or text that is not ASCII. The
codec (`lockgate.wire.codec`) then decides, and names the fault. Whatever is decoded here, the codec
decodes alike.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from lockgate.steps import Steps
from lockgate.watermark import MAX, MIN
from lockgate.wire.codec import BATCH_LIMIT
from lockgate.wire.events import NAME, ReaderFacts, ReportedWatermarkEvent, SplitReport, SplitState

T = TypeVar("T")

AT_ONCE: Final = 262_144
"""Bytes that are decoded without a pause, in 6 ms: a report of 2,000 splits. Longer reports are
left to the codec, which has pauses.
"""

MANY: Final = 1_000
"""Reports of a batch that are decoded without a pause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedReport(ReportedWatermarkEvent):
    """A report in a batch, which names its source."""

    source: str


class _State(msgspec.Struct):
    state: SplitState


class _States(msgspec.Struct):
    """A split's state is required on the wire, but has a default in the core's event."""

    splits: dict[str, _State] = {}


class _Batch(msgspec.Struct):
    reports: list[msgspec.Raw]


_report = msgspec.json.Decoder(ReportedWatermarkEvent)
_states = msgspec.json.Decoder(_States)
_batch = msgspec.json.Decoder(_Batch)
_reports = msgspec.json.Decoder(list[SourcedReport])
_reports_states = msgspec.json.Decoder(list[_States])


def report_from_bytes(body: bytes) -> ReportedWatermarkEvent | None:
    """Return the report, or None."""
    event = _decoded(_report, body) if len(body) <= AT_ONCE else None
    if event is None or not _plain(event) or (event.splits and _decoded(_states, body) is None):
        return None
    return event


def reports_from_bytes(body: bytes) -> Steps[list[tuple[str, ReportedWatermarkEvent]] | None]:
    """Return the reports of a batch with their sources; None if one of them is not plainly a
    report.
    """
    if len(body) > AT_ONCE:
        yield
    batch = _decoded(_batch, body)
    if batch is None or len(batch.reports) > BATCH_LIMIT:
        return None
    reports = list[tuple[str, ReportedWatermarkEvent]]()
    for part in _parts(batch.reports):
        if reports:
            yield
        some = _some_reports(b"[%b]" % b",".join(part))
        if some is None:
            return None
        reports += some
    return reports


def _parts(reports: list[msgspec.Raw]) -> Iterator[list[msgspec.Raw]]:
    """Yield the reports in their order, as many at a time as are decoded without a pause."""
    first = size = 0
    for index, report in enumerate(reports):
        length = len(memoryview(report))
        if index - first == MANY or (first < index and size + length > AT_ONCE):
            yield reports[first:index]
            first, size = index, 0
        size += length
    yield reports[first:]


def _some_reports(text: bytes) -> list[tuple[str, ReportedWatermarkEvent]] | None:
    events = _decoded(_reports, text) if len(text) <= AT_ONCE + MANY else None
    if events is None or not all(map(_plain, events)):
        return None
    if not all(map(NAME.match, {event.source for event in events})):
        return None
    if any(event.splits for event in events) and _decoded(_reports_states, text) is None:
        return None
    return [(event.source, event) for event in events]


def _decoded(decoder: "msgspec.json.Decoder[T]", body: bytes) -> T | None:
    if not body.isascii():  # in unknown fields msgspec accepts bytes that are not UTF-8
        return None
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def _plain(event: ReportedWatermarkEvent) -> bool:
    return (
        0 <= event.subtask <= MAX
        and 1 <= event.epoch <= MAX
        and MIN <= event.watermark <= MAX
        and (event.reach is None or MIN <= event.reach <= MAX)
        and (event.batch_id is None or 0 <= event.batch_id <= MAX)
        and (event.park_ms is None or 1 <= event.park_ms <= MAX)
        and (event.facts is None or _plain_facts(event.facts))
        and (not event.splits or all(NAME.match(name) and _plain_split(split) for name, split in event.splits.items()))
    )


def _plain_facts(facts: ReaderFacts) -> bool:
    return (
        (facts.late_rows is None or 0 <= facts.late_rows <= MAX)
        and (facts.rows_saved is None or 0 <= facts.rows_saved <= MAX)
        and (facts.retained_until is None or 0 <= facts.retained_until <= MAX)
        and (facts.retention_split is None or NAME.match(facts.retention_split) is not None)
        and (facts.producer_lag_ms is None or 0 <= facts.producer_lag_ms <= MAX)
        and (facts.event_time_rate is None or 0 <= facts.event_time_rate <= MAX)
    )


def _plain_split(split: SplitReport) -> bool:
    return (
        MIN <= split.watermark <= MAX
        and (split.position is None or MIN <= split.position <= MAX)
        and (split.end is None or MIN <= split.end <= MAX)
        and (split.rows is None or 0 <= split.rows <= MAX)
    )
