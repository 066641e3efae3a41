"""The output of the commands: tables for people, JSON and YAML for programs.

All commands print only through `say` and `Terminal`, so that no text in a coordinator's answer or
in a file can control the operator's terminal.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.text import Text

from lockgate.printable import printable


class Output(str, Enum):
    """The format in which a command prints its result."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


OutputOption = Annotated[Output, typer.Option("--output", help="Print the result as a table, as JSON or as YAML.")]


def say(line: str, *, err: bool = False) -> None:
    """Print one line on standard output, or on standard error if `err` is true."""
    typer.echo(printable(line), err=err)


def say_lines(text: str) -> None:
    """Print text of several lines. Line breaks in values from outside must be escaped already."""
    for line in text.split("\n"):
        say(line)


def print_answer(answer: Any, output: Output) -> None:
    """Print an answer as JSON or YAML, over several lines."""
    say_lines(_yaml(answer) if output is Output.YAML else json.dumps(answer, indent=2, ensure_ascii=False))


def print_item(item: Any, output: Output) -> None:
    """Print one of several answers as a line of JSON or as a YAML document."""
    say_lines(f"---\n{_yaml(item)}" if output is Output.YAML else json.dumps(item, ensure_ascii=False))


@contextmanager
def progress(title: str, *, shown: bool = True) -> Iterator[Callable[[float], None]]:
    """Yield a function that sets the completed share of a progress bar, from 0 to 1. The bar is
    shown only if `shown` is true and standard error is a terminal.
    """
    console = Terminal(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    hidden = not (shown and console.is_terminal)
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda share: bar.update(task, completed=share)


class Terminal(Console):
    """A console that interprets no text as markup, links or control codes."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render an object. Escape unprintable characters of a `Text` before it is wrapped."""
        if isinstance(renderable, Text) and not renderable.plain.isprintable():
            renderable = renderable.copy()
            renderable.plain = printable(renderable.plain)
        return super().render(renderable, options)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)


def _yaml(answer: Any) -> str:
    """Return the answer in YAML. If it contains an invisible character that YAML leaves unescaped,
    such as one that changes the direction of text, all non-ASCII characters are escaped.
    """
    text = str(yaml.safe_dump(answer, sort_keys=False, allow_unicode=True)).removesuffix("\n")
    if text.replace("\n", "").isprintable():
        return text
    return str(yaml.safe_dump(answer, sort_keys=False)).removesuffix("\n")
