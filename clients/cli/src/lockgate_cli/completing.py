"""The command `wait`, with which schedulers wait for all data before an event time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated

import typer

from lockgate.duration import spoken
from lockgate.sentences import moment
from lockgate_cli.client import OperatorClient
from lockgate_cli.options import GroupArgument, connected, milliseconds
from lockgate_cli.output import Terminal, say
from lockgate_cli.watching import interruptible
from lockgate_http.calls.client import CoordinatorClient
from lockgate_http.config import Coordinator
from lockgate_http.errors import ConfigurationError
from lockgate_http.waiting import event_time_ms, look
from lockgate_http.waiting import wait as wait_for

NOT_PASSED, NO_ANSWER = 1, 3
"""Exit statuses of `wait`. The others are 0 if the group has passed the event time, 2 for a usage
error, 130 for Ctrl-C, and 143 for SIGTERM.
"""


def event_time(value: str) -> int:
    """Convert an ISO 8601 time with a zone to ms since 1970, or raise `BadParameter`."""
    try:
        # Python 3.10 does not read the Z.
        return event_time_ms(datetime.fromisoformat(value.strip().replace("Z", "+00:00")))
    except (ValueError, ConfigurationError):
        raise typer.BadParameter(f"{value!r} is no time with a time zone, such as 2026-11-25T10:00Z") from None


Until = Annotated[
    str,
    typer.Option(
        "--until", metavar="TIME", help="The event time to pass, such as 2026-11-25T10:00Z.", show_default=False
    ),
]
Timeout = Annotated[str, typer.Option("--timeout", help="Wait for this long at most.")]


@connected(NO_ANSWER)
def wait(client: OperatorClient, group: GroupArgument, until: Until, timeout: Timeout = "30min") -> None:
    """Wait until the readers of a group have read everything before an event time. For schedulers:
    exit 0 once they have, 1 after --timeout, 2 on usage errors, 3 if the coordinator or group is
    not found.
    """
    bound, within_ms = event_time(until), milliseconds(timeout)
    with interruptible(), CoordinatorClient(_listening(client, group)) as listener, _shown(group, bound) as show:
        found = wait_for(listener, lambda: look(client.pages, group, bound), bound, within_ms / 1000, show)
    if not found.passed:
        say(f"lockgate: {group} has not passed {moment(bound)} within {spoken(within_ms)}: {found}", err=True)
        raise typer.Exit(NOT_PASSED)
    say(f"{group} has passed {moment(bound)}")


def _listening(client: OperatorClient, group: str) -> Coordinator:
    """Return the settings for listening to the group's events, taken from those of `client`."""
    access, https = client.access, client.url.startswith("https")
    files = {name: getattr(access, name) for name in ("ca", "cert", "key") if https}
    return Coordinator(client.url, group=group, token=access.token, token_file=access.token_file, **files)


@contextmanager
def _shown(group: str, bound: int) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows on standard error why the group has not passed `bound` (ms) yet.
    It does nothing if standard error is not a terminal.
    """
    console = Terminal(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(f"{group}: {moment(bound)}") as status:
        yield lambda why: status.update(f"{group} has not passed {moment(bound)}: {why}")
