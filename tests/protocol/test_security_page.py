"""The page about security: its limits and lines are the code's own."""

import re
from pathlib import Path

from typer.testing import CliRunner

from lockgate.wire.codec import FAULTS_COUNTED, FAULTS_LISTED
from lockgate.wire.events import BATCH_LIMIT
from lockgate.wire.split_codec import SOURCE_EVENT_SIZE
from lockgate.wire.split_events import SOURCE_EVENTS_KEPT
from lockgate_cli.__main__ import cli
from lockgate_coordinator.access.under_way import LARGE, MOST_LARGE, MOST_UNANSWERED
from lockgate_coordinator.api.problems import REJECTED_IN_FULL, TABLE
from lockgate_coordinator.intake import HEAD_LIMIT, SLOW_S
from lockgate_coordinator.limits import Limits
from lockgate_coordinator.settings import MAX_SUBSCRIBERS
from lockgate_coordinator.telemetry.logs import LONGEST_TEXT

PAGE = (Path(__file__).resolve().parents[2] / "docs/security.md").read_text(encoding="utf-8")
ROWS = {
    cells[0]: cells[1:]
    for line in PAGE.split("## Limits of a coordinator")[1].split("## ")[0].splitlines()
    if line.startswith("| ") and (cells := [cell.strip() for cell in line.strip("| ").split(" | ")])
}


def test_each_limit_has_its_default_in_the_table() -> None:
    defaults = Limits()
    for option, value in (
        ("--max-partitions", defaults.splits),
        ("--max-readers", defaults.readers),
        ("--max-sources", defaults.sources),
        ("--max-groups", defaults.groups),
        ("--max-attributes", defaults.attributes),
        ("--max-subscribers", MAX_SUBSCRIBERS),
    ):
        (row,) = (cells for cells in ROWS.values() if f"`{option}`" in cells)
        assert row[0] == f"{value:,}", option
    fixed = {
        "concurrent bodies over 64 KiB of one token": f"{MOST_LARGE}",
        "other unanswered requests of one token": f"{MOST_UNANSWERED:,}",
        "bytes of a report, batch, progress or exchange": f"{defaults.report_body.size >> 20} MiB",
        "bytes of another body": f"{defaults.other_body.size >> 10} KiB",
        "values (commas and opening brackets) of these": f"{defaults.report_body.values:,}",
        "messages of a source in each direction, and their bytes": f"{SOURCE_EVENTS_KEPT} of {SOURCE_EVENT_SIZE:,}",
        "values of another body": f"{defaults.other_body.values:,}",
        "reports of a batch": f"{BATCH_LIMIT:,}",
        "bytes of a request's head": f"{HEAD_LIMIT >> 10} KiB",
        "duration of an incomplete request": f"{SLOW_S:.0f} to {2 * SLOW_S:.0f} s",
        "errors that an answer lists": f"{FAULTS_LISTED}",
        "rejected reports of a batch with all their errors": f"{REJECTED_IN_FULL}",
        "characters of a text in a log line": f"{LONGEST_TEXT}",
    }
    assert {name: ROWS[name][0] for name in fixed} == fixed
    assert LARGE == 64 << 10
    assert f"up to {FAULTS_COUNTED:,} in all" in ROWS["errors that an answer lists"][-1]


def test_each_answer_and_option_of_the_page_is_there() -> None:
    kinds = {problem.type for problem in TABLE.values()}
    named = re.findall(r"\b(?:4\d\d|503) `([a-z-]+)`", PAGE)
    assert named
    assert set(named) <= kinds
    help_text = CliRunner().invoke(cli, ["serve", "--help"], env={"COLUMNS": "300", "NO_COLOR": "1"}).output
    for option in set(re.findall(r"`(--[a-z-]+)", PAGE)):
        assert option in help_text, option
