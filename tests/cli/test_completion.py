"""What shells ask the command `lockgate`, in a process of its own, as they ask it."""

import os
import subprocess
from pathlib import Path

import pytest

from cli.conftest import COMMAND


def asked(line: str, shell: str) -> str:
    """Return what is offered at the end of `line`."""
    words = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    environment = {**os.environ, "_LOCKGATE_COMPLETE": f"complete_{shell}", **words}
    return subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("shell", ["bash", *(pytest.param(each, marks=pytest.mark.long) for each in ("zsh", "fish"))])
def test_each_shell_is_offered_commands_and_forms(shell: str) -> None:
    offered = asked("lockgate pa", shell)
    assert ("pause" in offered, "resume" in offered) == (True, False)
    assert all(form in asked("lockgate groups --output ", shell) for form in ("table", "json", "yaml"))


def test_bash_gets_the_completion_by_one_command(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "COMMAND": " ".join(COMMAND)}
    shown = _in_bash("$COMMAND --show-completion; true", environment)
    _in_bash("$COMMAND --install-completion; true", environment)
    assert "complete_bash" in shown
    _in_bash("source ~/.bashrc && complete -p lockgate", environment)


def _in_bash(script: str, environment: dict[str, str]) -> str:
    """Standard output. The command finds out by itself that a bash has started it."""
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
