"""The command `lockgate` in this process, and what it prints."""

from typer.testing import CliRunner

from lockgate_cli.__main__ import cli


def said(url: str, *args: str, code: int = 0, width: int = 80, **env: str) -> str:
    """What `lockgate` prints; its errors alone if it fails."""
    done = CliRunner().invoke(cli, args, env={"LOCKGATE_URL": url, "COLUMNS": str(width), "LOCKGATE_TOKEN": "", **env})
    assert done.exit_code == code, done.output
    return done.stderr if code else done.stdout


def fault(url: str, *args: str, **env: str) -> str:
    """The one line of a command that fails."""
    (line,) = said(url, *args, code=1, **env).splitlines()
    return line
