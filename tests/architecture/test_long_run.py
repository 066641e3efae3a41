"""`make long` on a small project: which suites it runs, which it repeats, what it writes down."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lockgate_testbed.process import await_true
from support.imports import CHECKOUT

LONG = "import pytest, time\nfrom pathlib import Path\npytestmark = pytest.mark.long\ndef test_it() -> None:\n    "
SUITES = {
    "test_a.py": "assert True",
    "test_b.py": "assert Path('mended').exists()",
    "test_c.py": "Path('began').touch()\n    while not Path('free').exists(): time.sleep(0.05)",
    "test_d.py": "pytest.skip('no broker')",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a repository with four suites: one passes, one fails until there is a file `mended`,
    one ends once there is a file `free`, and one is skipped.
    """
    tests = tmp_path / "tests"
    tests.mkdir()
    shutil.copy(CHECKOUT / "tests/long.py", tests)
    for name, test in SUITES.items():
        (tests / name).write_text(LONG + test)
    (tests / "test_short.py").write_text("def test_it() -> None: assert False")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = long\naddopts = -p no:cacheprovider\n")
    (tmp_path / ".gitignore").write_text("build\n__pycache__\nmended\nbegan\nfree\n")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(project: Path, *words: str) -> None:
    name = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", str(project), *name, *words], check=True)


def commit(project: Path) -> None:
    git(project, "add", ".")
    git(project, "commit", "--quiet", "--allow-empty", "-m", "change")


def started(project: Path, *words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, str(project / "tests/long.py"), *words]
    quick = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    return subprocess.Popen(
        command, cwd=project, env=quick, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def outcome(project: Path, *words: str) -> tuple[int, str]:
    """Return the exit code, and the verdict of each suite in order."""
    run = started(project, *words)
    printed, _ = run.communicate(timeout=300)
    ends = [line.partition(" … ")[2] for line in printed.splitlines() if line.startswith("[")]
    return run.returncode, ", ".join(end.partition(" in ")[0] + " (earlier)" * ("(earlier)" in end) for end in ends)


def test_each_suite_has_a_verdict_and_a_row_in_the_summary(project: Path) -> None:
    (project / "free").touch()
    assert outcome(project) == (1, "passed, failed, passed, skipped")
    rows = (project / "build/long/summary.md").read_text().splitlines()[4:]
    cells = [[cell.strip() for cell in row.split("|")[1:6]] for row in rows]
    assert cells == [
        ["`tests/test_a.py`", "passed", "1", "0", "0"],
        ["`tests/test_b.py`", "failed", "0", "1", "0"],
        ["`tests/test_c.py`", "passed", "1", "0", "0"],
        ["`tests/test_d.py`", "skipped", "0", "0", "1"],
    ]
    assert "assert Path('mended').exists()" in (project / "build/long/test_b.log").read_text()


def test_a_run_that_was_cut_off_continues_where_it_stopped(project: Path) -> None:
    cut_off = started(project)
    assert await_true((project / "began").exists, 120)
    cut_off.send_signal(signal.SIGINT)
    cut_off.communicate(timeout=120)
    assert cut_off.returncode != 0
    (project / "free").touch()
    (project / "mended").touch()
    assert outcome(project) == (0, "passed (earlier), passed, passed, skipped")


def test_suites_are_repeated_on_another_commit_with_changes_and_on_demand(project: Path) -> None:
    paths = ["tests/test_a.py"]
    first, again = (0, "passed"), (0, "passed (earlier)")
    assert [outcome(project, *paths) for _ in range(2)] == [first, again]
    assert outcome(project, *paths, "--again") == first
    commit(project)
    assert outcome(project, *paths) == first
    (project / "tests/test_short.py").write_text("")
    assert outcome(project, *paths) == first


def test_a_folder_without_long_tests_is_refused(project: Path) -> None:
    assert outcome(project, "tests/test_short.py") == (1, "")
