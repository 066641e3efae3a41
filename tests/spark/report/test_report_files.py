"""The files of a report are whole at any time, and written when the process ends."""

import atexit
import json
import logging
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lockgate_spark import ConfigurationError
from lockgate_spark.report import files
from lockgate_spark.report.files import REFRESH_S, ReportFiles, folder_of
from lockgate_spark.report.findings import Basis, Findings, Loss, RunState

CHILD = """
import os, signal, sys
from pathlib import Path
from lockgate_spark.report.files import ReportFiles, write_at_the_end
from lockgate_spark.report.findings import Basis, Findings, Loss

def found(state):
    return Findings(query=None, query_id="id", run_id="run", state=state, began=0.0, until=1.0, rows=1, batches=1,
                    loss=Loss(Basis.OPERATORS, 1, 1))

write_at_the_end()
report = ReportFiles(Path(sys.argv[1]), None, "id", found, lambda: 0.0)
if sys.argv[2] == "SIGTERM":
    os.kill(os.getpid(), signal.SIGTERM)
if sys.argv[2] == "driver":
    from lockgate_spark.host.__main__ import end_with_the_driver
    end_with_the_driver()
"""


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def found(state: RunState, rows: int = 1) -> Findings:
    loss = Loss(Basis.OPERATORS, rows, rows)
    return Findings(
        query=None, query_id="id", run_id="run", state=state, began=0.0, until=1.0, rows=9, batches=1, loss=loss
    )


def state_in(folder: Path, name: str = "lockgate-observed") -> str:
    return str(json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["state"])


def test_a_long_run_s_files_are_made_anew_every_half_minute_and_at_the_end(tmp_path: Path) -> None:
    clock, made = Clock(), []

    def make(state: RunState) -> Findings:
        made.append(state)
        return found(state)

    report = ReportFiles(tmp_path, None, "a-run", make, clock)
    for clock.now in (0.0, REFRESH_S - 1, REFRESH_S, REFRESH_S + 1):
        report.refresh()
    assert made == [RunState.RUNNING] * 2
    report.write(RunState.ENDED)
    clock.now = 9 * REFRESH_S
    report.refresh()
    assert made[2:] == [RunState.ENDED]
    assert state_in(tmp_path) == "ended"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lockgate-observed.html", "lockgate-observed.json"]


def test_failed_report_keeps_the_last_one_and_is_warned_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fails = [False]

    def make(state: RunState) -> Findings:
        if fails[0]:
            raise RuntimeError("no figures")
        return found(state)

    report = ReportFiles(tmp_path, None, "b-run", make, Clock())
    report.write(RunState.RUNNING)
    fails[0] = True
    caplog.set_level(logging.WARNING, "lockgate")
    report.write(RunState.RUNNING)
    report.write(RunState.ENDED)
    assert state_in(tmp_path) == "running"
    assert len(caplog.records) == 1
    assert "no figures" in caplog.text


def test_a_file_that_cannot_be_written_leaves_no_part_behind(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "lockgate-observed.json" / "in-the-way").mkdir(parents=True)
    ReportFiles(tmp_path, None, "c-run", found, Clock()).write(RunState.ENDED)
    assert "cannot write the report to" in caplog.text
    assert [path.name for path in tmp_path.iterdir()] == ["lockgate-observed.json"]


def test_each_query_has_its_own_files_also_after_a_restart(tmp_path: Path) -> None:
    def path(query: str | None, query_id: str) -> str:
        return ReportFiles(tmp_path, query, query_id, found, Clock()).path.name

    assert path("orders", "11111111-a") == "lockgate-observed.html"
    assert path("a/b c", "22222222-a") == "lockgate-observed-a_b_c.html"
    assert path(None, "33333333-a") == "lockgate-observed-33333333.html"
    assert path("a/b c", "44444444-a") == "lockgate-observed-a_b_c-44444444.html"
    assert path("orders", "11111111-a") == "lockgate-observed.html"


@pytest.mark.parametrize("how", ["SIGTERM", "exit", "driver"])
def test_a_process_that_ends_while_its_query_runs_writes_the_report(tmp_path: Path, how: str) -> None:
    command = [sys.executable, "-c", CHILD, str(tmp_path), how]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert ended.returncode == (-signal.SIGTERM if how == "SIGTERM" else 0), ended.stderr
    assert state_in(tmp_path) == "cut_off"


def test_a_program_that_handles_sigterm_itself_keeps_its_handler() -> None:
    def own(number: int, frame: object) -> None:
        raise AssertionError

    before = signal.signal(signal.SIGTERM, own)
    try:
        files.write_at_the_end()
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)
        atexit.unregister(files.write_all)


def test_report_folder_is_created(tmp_path: Path) -> None:
    assert folder_of(None) is None
    assert folder_of(str(tmp_path / "new" / "option")) == tmp_path / "new" / "option"
    assert (tmp_path / "new" / "option").is_dir()


def test_a_place_that_is_no_folder_is_refused_before_the_query_starts(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"Alignment\(report='.*file'\): .*expected a folder"):
        folder_of(str(tmp_path / "file"))
    with pytest.raises(ConfigurationError, match=r"Alignment\(report='s3://bucket/reports'\): this is a URL"):
        folder_of("s3://bucket/reports")
