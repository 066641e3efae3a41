"""Makes a break in a copy of its package and reports what notices: the tests named with the break,
and for the core the replay of Flink's traces.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from rule_breaks.breaks import Break

CONFORMANCE = Path(__file__).parents[1]
CHECKOUT = CONFORMANCE.parents[1]
CORE = "lockgate"
WITHIN_S = 600
"""How long the tests of a break may take. A break that makes them wait for ever is noticed, too."""


def source(package: str) -> Path:
    """Return the folder with the package's sources."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise LookupError(f"the package {package} is not installed")
    return Path(spec.origin).parent


def files_of(each: Break) -> list[Path]:
    """Return the files of the tests named with the break."""
    return [path for test in each.tests for path in (CHECKOUT / "tests").rglob(test)]


def caught_by(each: Break) -> tuple[str, str]:
    """Return what the replay says, and the first test that fails; empty where nothing noticed."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, each.package)
        shutil.copytree(source(each.package), package, ignore=shutil.ignore_patterns("__pycache__"))
        broken = package / each.file
        broken.write_text(broken.read_text().replace(each.old, each.new))
        try:
            return _replay(folder) if each.package == CORE else "", _tests(folder, files_of(each))
        except subprocess.TimeoutExpired:
            return "", f"no end within {WITHIN_S} s"


def _run(folder: str, *command: str) -> "subprocess.CompletedProcess[str]":
    # The copy comes first on the path, so that it shadows the package it was made of.
    path = [folder, str(CONFORMANCE), str(CHECKOUT / "tests"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = {**os.environ, "EXAMPLES": "all", "PYTHONPATH": os.pathsep.join(filter(None, path))}
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env=environment,
        check=False,
        timeout=WITHIN_S,
    )


def _replay(folder: str) -> str:
    done = _run(folder, "-m", "flink_replay")
    if done.returncode == 0:
        return ""
    components = sorted({line.split(":")[0] for line in done.stdout.splitlines()[:-1]})
    different = re.search(r"(\d+) different", done.stdout)
    return f"{different.group(1)} traces ({', '.join(components)})" if different else "fails to run"


def _tests(folder: str, tests: list[Path]) -> str:
    short = ("-m", "not long and not compose")
    done = _run(folder, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *short, *map(str, tests))
    failed = re.search(r"^(?:FAILED|ERROR) \S*?(test_\w+\.py)(?:::(\w+))?", done.stdout, re.MULTILINE)
    return f"`{failed.group(2) or failed.group(1)}`" if failed else ""
