"""Whether the Python beside the driver lives, though it does not answer a plan."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

PYTHON = Path(__file__).with_name("programs") / "says_that_it_lives.py"


def test_python_stopped_within_a_plan_is_killed_and_a_slow_one_not(
    beside_the_jar: Callable[[str], list[str]],
) -> None:
    command = [*beside_the_jar("SilentPython"), sys.executable, str(PYTHON)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout

    assert said.splitlines()[0] == "planned"
    assert said.splitlines()[-1] == f"ended with {128 + signal.SIGKILL}"
    assert "runs, but has not answered for" in said
