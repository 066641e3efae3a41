"""The commands' shared options. No option takes a token, because process lists show options."""

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from lockgate.duration import written
from lockgate.watermark import MAX
from lockgate.wire.fields import NAME, NAME_RULE
from lockgate_cli.client import Flags, NotFound, OperatorClient
from lockgate_cli.output import say
from lockgate_http.config import TOKEN, is_address
from lockgate_http.errors import AlignmentError, ConfigurationError

VARIABLE = "LOCKGATE_TOKEN"
PANEL = "Connection"
Command = Callable[..., None]


def _http_url(value: str) -> str:
    if not is_address(value):
        raise typer.BadParameter("must be http://HOST:PORT or https://HOST:PORT")
    return value.rstrip("/")


def _token(value: Path | None) -> Path | None:
    if value is not None and not value.read_text(encoding="utf-8").strip():
        raise typer.BadParameter(f"{value} is empty: put the token in it, and nothing else")
    return value


def _pattern(value: str) -> str:
    """Return `value`. Raises `BadParameter` unless it is a name, or a prefix followed by *."""
    _name(value[:-1] + "-" if value.endswith("*") else value)
    return value


def _name(value: str) -> str:
    """Return `value`. Raises `BadParameter` unless it is a valid name, because in a URL other text
    could match a different route.
    """
    if not NAME.match(value):
        raise typer.BadParameter(f"{value!r} {NAME_RULE}")
    return value


def milliseconds(value: str) -> int:
    """Return a duration such as `5min` in ms. Raises `BadParameter` if `value` is no duration."""
    found = written(value)
    if found is None or found < 0:
        raise typer.BadParameter(f"{value!r} is no duration: 30s, 5min, 1h 30min, 10 minutes and 250ms are some")
    return min(MAX, found)


def _file(name: str, text: str, **more: Any) -> Any:
    """Return the type of the option --`name`, which takes the path of an existing file."""
    return Annotated[
        Path | None,
        typer.Option(f"--{name}", exists=True, dir_okay=False, readable=True, rich_help_panel=PANEL, help=text, **more),
    ]


Url = Annotated[
    str,
    typer.Option(
        "--url", envvar="LOCKGATE_URL", callback=_http_url, rich_help_panel=PANEL, help="The coordinator's address."
    ),
]
CONNECTION: dict[str, tuple[Any, Any]] = {
    "url": (Url, "http://127.0.0.1:8080"),
    "token_file": (_file("token-file", f"Read the token from this file instead of {VARIABLE}.", callback=_token), None),
    "ca": (_file("ca", "Trust the certificate authorities in this file (PEM) for https.", envvar="LOCKGATE_CA"), None),
    "cert": (
        _file(
            "cert", "Present this client certificate (PEM), if the coordinator asks for one.", envvar="LOCKGATE_CERT"
        ),
        None,
    ),
    "key": (_file("key", "The private key of --cert, if it is in another file.", envvar="LOCKGATE_KEY"), None),
}
"""The type and the default of each option of the connection."""

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
GroupArgument = Annotated[str, typer.Argument(metavar="GROUP", callback=_name, help="The alignment group.")]
Patterns = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="GROUP",
        callback=lambda values: [_pattern(value) for value in values or []],
        help="A group, or a prefix followed by * for several groups. [default: all groups that the token may read]",
    ),
]
SourceArgument = Annotated[
    str, typer.Argument(metavar="SOURCE", callback=_name, help="The source's name in the group.")
]
SubtaskArgument = Annotated[
    int, typer.Argument(metavar="SUBTASK", min=0, help="The reader's number within its source.")
]


def connected(failed: int = 1) -> Callable[[Command], Command]:
    """Return a decorator that adds the options of the connection to a command.

    The first parameter of the command is the client. If the command raises an `AlignmentError`, the
    process prints the error in one line and exits with the code `failed`. If the group, source or
    reader is unknown, the line also names existing ones.
    """

    def with_options(command: Command) -> Command:
        def run(
            url: str, token_file: Path | None, ca: Path | None, cert: Path | None, key: Path | None, **given: Any
        ) -> None:
            token = None if token_file else os.environ.get(VARIABLE, "").strip() or None
            files = (None if each is None else str(each) for each in (token_file, ca, cert, key))
            try:
                if key is not None and cert is None:
                    raise ConfigurationError("--key needs --cert, the certificate whose key it is")
                if token is not None and not TOKEN.match(token):
                    raise ConfigurationError(f"{VARIABLE}: expected printable ASCII without blanks")
                with OperatorClient(Flags(url, token, *files)) as client:
                    try:
                        command(client, **given)
                    except NotFound as fault:
                        raise client.with_near_names(fault, given.get("group", ""), given.get("source")) from fault
            except AlignmentError as error:
                say(f"lockgate: {error}", err=True)
                raise typer.Exit(failed) from error

        own = list(inspect.signature(command).parameters.values())[1:]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, (kind, default) in CONNECTION.items()
        ]
        run.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in (*own, *more)}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return with_options
