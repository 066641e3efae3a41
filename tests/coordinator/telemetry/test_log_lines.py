"""What is logged is one line, whatever is in it."""

import json
import logging
import re
from datetime import datetime
from io import StringIO
from logging import LogRecord
from typing import Any

import pytest

from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store import MemoryStore
from lockgate_coordinator.telemetry.journal import LINES_OF_ONE_COMMIT, LOGGER
from lockgate_coordinator.telemetry.logs import LONGEST_TEXT, JsonLines, TextLines
from lockgate_coordinator.telemetry.metrics import Metrics

HOSTILE = 'a\nb\r\n{"level":"info"} \x1b[31m \u2028 \ud800 "quoted" \x00'


def record(message: str = "reader registered", error: BaseException | None = None, **fields: Any) -> LogRecord:
    said = LogRecord(
        "lockgate.changes", logging.INFO, "", 0, message, None, None if error is None else (type(error), error, None)
    )
    said.fields = fields
    return said


def test_a_json_line_has_the_time_in_utc_with_milliseconds_and_its_fields() -> None:
    said = json.loads(
        JsonLines().format(record(event="reader_registered", group="g", source="s", subtask=3, reason="new"))
    )
    assert said["time"].endswith("Z")
    assert len(said["time"]) == len("2026-01-01T00:00:00.000Z")
    assert datetime.fromisoformat(said["time"][:-1])
    assert (said["event"], said["group"], said["source"], said["subtask"], said["level"]) == (
        "reader_registered",
        "g",
        "s",
        3,
        "info",
    )


@pytest.mark.parametrize("form", [JsonLines(), TextLines()])
def test_no_text_makes_a_second_line(form: logging.Formatter) -> None:
    line = form.format(record(message=HOSTILE, owner=HOSTILE, more={HOSTILE: [HOSTILE]}))
    assert len(line.splitlines()) == 1
    assert line.isprintable()


def test_a_json_line_gives_free_text_back_as_it_was() -> None:
    assert json.loads(JsonLines().format(record(owner=HOSTILE)))["owner"] == HOSTILE


@pytest.mark.parametrize("form", [JsonLines(), TextLines()])
def test_a_long_text_is_cut(form: logging.Formatter) -> None:
    assert len(form.format(record(owner="x" * 1_000_000))) < LONGEST_TEXT + 300


def test_text_format_puts_errors_behind_bars() -> None:
    first, *more = (
        TextLines().format(record("it failed", ValueError("x\n2026-01-01T00:00:00.000Z INFO all is well"))).splitlines()
    )
    assert first.endswith("INFO it failed")
    assert more
    assert all(line.startswith("  | ") for line in more)


def test_the_text_format_writes_fields_as_words_or_json() -> None:
    line = TextLines().format(record(event="reader_registered", group="g", owner="two words", config={"a": 1}))
    assert line.endswith('INFO reader registered group=g owner="two words" config={"a": 1}')


def test_text_format_has_readable_times_and_json_milliseconds() -> None:
    fields = {
        "silent_ms": 740_759,
        "watermark": 1_767_225_600_000,
        "read_limit": 1_767_225_600_000,
        "changed": {"max_drift_ms": {"from": 600_000, "to": 331_000}, "max_wait_ms": [None, 2**63 - 1]},
        "epoch": 1_234_567,
    }
    line = TextLines().format(record("reader lost", **fields))
    assert 'silent="12 min 20 s" watermark=2026-01-01T00:00:00.000Z read_limit=2026-01-01T00:00:00.000Z' in line
    assert '"max_drift_ms": {"from": "10 min", "to": "5 min 31 s"}' in line
    assert "epoch=1234567" in line
    assert not re.search(r"\d{8}", line)
    said = json.loads(JsonLines().format(record("reader lost", **fields)))
    assert {key: said[key] for key in fields} == fields


async def test_changes_of_one_commit_are_counted_beyond_a_limit() -> None:
    seen, now = StringIO(), [10_000]
    metrics = Metrics(MemoryStore(lambda: now[0]))
    handler = logging.StreamHandler(seen)
    handler.setFormatter(JsonLines())
    coordinator = Coordinator(metrics.store, [metrics.journal])
    await coordinator.configure("g", GroupConfig(lease_ms=1_000))
    for subtask in range(300):
        epoch = (await coordinator.register("g", "s", ReaderRegistrationEvent(subtask=subtask))).epoch
        await coordinator.report("g", "s", ReportedWatermarkEvent(subtask=subtask, epoch=epoch, watermark=1))
    logging.getLogger(LOGGER).addHandler(handler)
    try:
        now[0] += 1_000
        await coordinator.refresh("g")
    finally:
        logging.getLogger(LOGGER).removeHandler(handler)
    *lines, last = [json.loads(line) for line in seen.getvalue().splitlines()]
    assert [(line["event"], line["level"]) for line in lines] == [("reader_lost", "warning")] * LINES_OF_ONE_COMMIT
    assert (last["event"], last["changes"]) == ("more_changes", {"reader_lost": 300 - LINES_OF_ONE_COMMIT})
