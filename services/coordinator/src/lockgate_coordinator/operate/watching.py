"""A view that shows what changes, until it is interrupted: live on a terminal, else a line for each
change. An outage is shown, and ends by itself.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep, strftime
from types import FrameType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from lockgate_coordinator.operate.client import Json
from lockgate_coordinator.operate.faults import NotFound, Unreachable
from lockgate_coordinator.operate.output import Output, print_item, say
from lockgate_coordinator.sentences import moment, span, who_holds

EVERY_S = 2.0
"""How often a view asks again."""

PASSING = (Unreachable, NotFound)
"""Faults that may pass. A group over memory is gone until the first reader registers again."""


def live(console: Console, view: Callable[[int], RenderableType]) -> None:
    """Shows `view`, made for the width of the terminal, again and again. A fault of the first look
    is raised.
    """
    with _ending():
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
    """Prints the group whenever its alignment changes. A fault of the first look is raised; a later
    one is told once, on standard error.
    """
    with _ending():
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
                    say("lockgate: the coordinator shows the group again", err=True)
                away = False
            except PASSING as fault:
                if not away:
                    say(f"lockgate: {fault}; lockgate asks again", err=True)
                away = True


def line(group: Json) -> str:
    """A group's state in one line, without what changes by time alone."""
    event = group["alignment"]
    highest = moment(event["max_desired_watermark"], unbounded="unbounded")
    return (
        f"watermark {moment(event['group_watermark'])}, ceiling {highest}, drift {span(group['drift_ms'])}. "
        f"{who_holds(group)}"
    )


@contextmanager
def _ending() -> Iterator[None]:
    """Ctrl-C and SIGTERM end what is inside, and leave the terminal as it was."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, before)
