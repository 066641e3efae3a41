"""The options that the commands share. A token comes from a file or the environment, since every
user can read the process list.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from lockgate.wire.events import NAME, NAME_RULE
from lockgate_cli.client import CoordinatorClient
from lockgate_cli.faults import Fault
from lockgate_cli.output import say
from lockgate_cli.trust import Trust

DEFAULT_URL = "http://127.0.0.1:8080"
TOKEN = "LOCKGATE_TOKEN"


def _http_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise typer.BadParameter("must be http://HOST:PORT or https://HOST:PORT")
    return value.rstrip("/")


def _token(value: Path | None) -> Path | None:
    if value is not None and not value.read_text(encoding="utf-8").strip():
        raise typer.BadParameter(f"{value} is empty: put the token in it, and nothing else")
    return value


def _name(value: str) -> str:
    """Check a name by the protocol's rule. Another text in a path might match another route."""
    if not NAME.match(value):
        raise typer.BadParameter(f"{value!r} {NAME_RULE}")
    return value


def _pattern(value: str) -> str:
    """Check a name, or a prefix followed by *."""
    if not NAME.match(value[:-1] + "-" if value.endswith("*") else value):
        raise typer.BadParameter(f"{value!r} {NAME_RULE}")
    return value


Url = Annotated[
    str, typer.Option("--url", envvar="LOCKGATE_URL", callback=_http_url, help="The coordinator's address.")
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        exists=True,
        dir_okay=False,
        readable=True,
        callback=_token,
        help=f"Read the token from this file instead of {TOKEN}.",
    ),
]
Ca = Annotated[
    Path | None,
    typer.Option(
        "--ca",
        envvar="LOCKGATE_CA",
        exists=True,
        dir_okay=False,
        help="Trust these certificate authorities (PEM) with https.",
    ),
]
Cert = Annotated[
    Path | None,
    typer.Option(
        "--cert",
        envvar="LOCKGATE_CERT",
        exists=True,
        dir_okay=False,
        help="Present this client certificate (PEM), if the coordinator asks for one.",
    ),
]
CertKey = Annotated[
    Path | None,
    typer.Option(
        "--key",
        envvar="LOCKGATE_KEY",
        exists=True,
        dir_okay=False,
        help="The private key of --cert, if it is in another file.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Watch = Annotated[bool, typer.Option("--watch", help="Refresh every two seconds until Ctrl-C.")]
GroupArgument = Annotated[str, typer.Argument(metavar="GROUP", callback=_name, help="The alignment group.")]
Patterns = Annotated[
    list[str] | None,
    typer.Argument(metavar="[GROUP]…", callback=lambda values: [_pattern(value) for value in values or []]),
]
SourceArgument = Annotated[
    str, typer.Argument(metavar="SOURCE", callback=_name, help="The source's name in the group.")
]
SubtaskArgument = Annotated[int, typer.Argument(metavar="SUBTASK", min=0, help="The reader's number in its source.")]


@contextmanager
def asking(url: str, token_file: Path | None, tls: Trust) -> Iterator[CoordinatorClient]:
    """Open a client for one command. A `Fault` ends the command with its text and exit code 1."""
    try:
        with CoordinatorClient(url, _read(token_file), tls) as client:
            yield client
    except Fault as fault:
        say(f"lockgate: {fault}", err=True)
        raise typer.Exit(1) from fault


def _read(token_file: Path | None) -> str | None:
    token = os.environ.get(TOKEN, "") if token_file is None else token_file.read_text(encoding="utf-8")
    return token.strip() or None
