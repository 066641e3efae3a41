"""The connections between the driver and the Python beside it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

PYTHON = Path(__file__).with_name("programs") / "answers_connections.py"


def test_a_thread_of_java_that_has_ended_leaves_no_connection_to_python(
    beside_the_jar: Callable[[str], list[str]],
) -> None:
    command = [*beside_the_jar("EndedThreads"), sys.executable, str(PYTHON)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout

    assert said.split() == ["1"], "that of the thread that asks in the end"
