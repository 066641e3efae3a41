"""Views of groups that run until they are interrupted, on a terminal or as a line per change.

If the coordinator is unreachable, a view shows the error and keeps trying.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep, strftime
from types import FrameType

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from lockgate.sentences import moment, span
from lockgate.wire.fields import Json
from lockgate_cli.output import Output, print_item, say
from lockgate_http.waiting import PASSING

EVERY_S = 2.0
"""The seconds between two requests of a view."""


def live(console: Console, view: Callable[[int], RenderableType]) -> None:
    """Show the result of `view` on the whole screen until Ctrl-C or SIGTERM.

    `view` takes the width of the terminal, and is called again every `EVERY_S` seconds. An error
    from the first call is raised. Later errors in `PASSING` are shown above the last view.
    """
    with interruptible(status=0):
        shown = view(console.width)
        screen = Live(shown, console=console, auto_refresh=False, screen=True)
        try:  # a signal amid the start has to leave the screen too, and a with statement would not
            screen.start(refresh=True)
            while True:
                sleep(EVERY_S)
                try:
                    shown = view(console.width)
                    screen.update(shown, refresh=True)
                except PASSING as fault:
                    told = Text(f"{strftime('%H:%M:%S')} {fault}", style="red")
                    screen.update(Group(told, shown), refresh=True)
        finally:
            screen.stop()


def follow(look: Callable[[], Json], output: Output) -> None:
    """Print the group that `look` returns whenever its alignment changes, until Ctrl-C or SIGTERM.

    An error from the first call is raised. Later errors in `PASSING` are printed on standard error.
    """
    with interruptible(status=0):
        found, told, away = look(), None, False
        while True:
            if (news := line(found)) != told:
                told = news
                if output is Output.TABLE:
                    say(f"{moment(found['now'])} {news}")
                else:
                    print_item(found, output)
            sleep(EVERY_S)
            try:
                found = look()
                if away:
                    say("lockgate: connected to the coordinator again", err=True)
                away = False
            except PASSING as fault:
                if not away:
                    say(f"lockgate: {fault}; retrying every 2 s", err=True)
                away = True


def line(group: Json) -> str:
    """Return the state of a group as one line, without values that change only with time."""
    event = group["alignment"]
    highest = moment(event["max_desired_watermark"], unbounded="unbounded")
    return (
        f"watermark {moment(event['group_watermark'])}, read limit {highest}, drift {span(group['drift_ms'])}. "
        f"{group['sentence']}"
    )


@contextmanager
def interruptible(status: int | None = None) -> Iterator[None]:
    """End the `with` block on Ctrl-C or SIGTERM, and let the block restore the terminal. Then exit
    with `status`, or with 128 plus the signal's number if `status` is None.
    """
    caught = 0

    def interrupt(number: int, _frame: FrameType | None) -> None:
        nonlocal caught
        caught = number
        raise KeyboardInterrupt

    before = {each: signal.signal(each, interrupt) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(128 + caught if status is None else status) from None
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
