"""The history of a coordinator whose disk is full for a while can still be read."""

import os
from pathlib import Path

import pytest

from lockgate_cli.verifying import read
from lockgate_coordinator.telemetry.history import TurnHistory


def test_line_that_a_full_disk_has_cut_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    history, write = TurnHistory(tmp_path), os.write
    history.deleted("before", 0, expired=False)
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda file, data: write(file, data[: len(data) // 2]))
        history.deleted("meanwhile", 0, expired=False)
        history.deleted("meanwhile", 0, expired=False)
    history.deleted("after", 0, expired=False)
    assert [each.body["group"] for each in read(list(tmp_path.iterdir()))] == ["before", "after"]
    assert caplog.text.count("cannot write to the history") == 1
