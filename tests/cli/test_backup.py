"""The file of `lockgate export`, and each fault of such a file by its line."""

import json
from datetime import datetime, timezone

import pytest

from lockgate.wire.events import GroupConfig
from lockgate_cli.backup import Saved, read, written
from lockgate_cli.faults import Fault

GROUPS = [Saved("a", GroupConfig(max_drift_ms=7, expected_sources=("x", "y"))), Saved("b", GroupConfig())]
LINES = written(GROUPS, datetime(2026, 11, 23, tzinfo=timezone.utc)).splitlines()
HEADER, A, B, END = LINES


def test_what_was_written_is_read_again() -> None:
    assert read("\n".join(LINES), "f") == GROUPS
    assert json.loads(HEADER) == {"lockgate_export": 1, "made_at": "2026-11-23T00:00:00Z"}


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ([], "its first line must have lockgate_export"),
        ([A, B, END], "its first line must have lockgate_export"),
        ([HEADER.replace("1", "2", 1), A, B, END], "version 2"),
        ([HEADER, A, B], "was cut off"),
        ([HEADER, A, B[:20]], "line 3 must be a JSON object"),
        ([HEADER, A, END], "has 1 groups, and its end says 2"),
        ([HEADER, A, A, END], "line 3: group a is there twice"),
        ([HEADER, A, B.replace('"b"', '"b/c"'), END], "line 3: group must be 1 to 255"),
        ([HEADER, A, B.replace("300000", "-1"), END], "line 3: config.max_drift_ms must be"),
        ([HEADER, A, B.replace("max_drift_ms", "max_drift"), END], "line 3: config.max_drift "),
        ([HEADER, A, '{"group": "b"}', END], "line 3: config"),
        ([HEADER, A, "[" * 100_000, END], "line 3 must be a JSON object"),
    ],
)
def test_a_fault_names_the_file_and_the_line(lines: list[str], text: str) -> None:
    with pytest.raises(Fault, match=f"^the file.*{text}"):
        read("\n".join(lines), "the file")


def test_all_faults_are_named_at_once() -> None:
    with pytest.raises(Fault, match=r"line 2: config.max_drift_ms .*line 3: config.lease_ms "):
        read("\n".join([HEADER, A.replace("7", "-7", 1), B.replace("30000,", "1,"), END]), "f")
