"""Makes a break in a copy of the core and looks what notices: the replay of Flink's traces, and the
tests named with the break.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import lockgate
from rule_breaks.breaking import Break

CONFORMANCE = Path(__file__).parents[1]
CHECKOUT = CONFORMANCE.parents[1]
CORE = Path(lockgate.__file__).parent


def caught_by(each: Break) -> tuple[str, str]:
    """What the replay says, and the first test that fails; empty where nothing noticed."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, "lockgate")
        shutil.copytree(CORE, package, ignore=shutil.ignore_patterns("__pycache__"))
        broken = package / each.file
        broken.write_text(broken.read_text().replace(each.old, each.new))
        return _replay(folder), _tests(folder, each.tests)


def _run(folder: str, *command: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((folder, str(CONFORMANCE), str(CHECKOUT / "tests")))}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, cwd=CHECKOUT, env=environment, check=False
    )


def _replay(folder: str) -> str:
    done = _run(folder, "-m", "flink_replay")
    if done.returncode == 0:
        return ""
    components = sorted({line.split(":")[0] for line in done.stdout.splitlines()[:-1]})
    different = re.search(r"(\d+) different", done.stdout)
    return f"{different.group(1)} traces ({', '.join(components)})" if different else "fails to run"


def _tests(folder: str, tests: tuple[str, ...]) -> str:
    paths = [str(path) for test in tests for path in (CHECKOUT / "tests" / "core").rglob(test)]
    done = _run(folder, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *paths)
    failed = re.search(r"^(?:FAILED|ERROR) \S*?(test_\w+\.py)(?:::(\w+))?", done.stdout, re.MULTILINE)
    return f"`{failed.group(2) or failed.group(1)}`" if failed else ""
