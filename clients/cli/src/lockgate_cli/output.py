"""All that the commands print, and its forms: a table for people, JSON and YAML for programs.

Every command prints by `say` and `Terminal`, and by nothing else: text of others cannot steer the
terminal of the operator who reads it.
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
    """Format in which a command prints its result."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


OutputOption = Annotated[Output, typer.Option("--output", help="Print the result as a table, as JSON or as YAML.")]


def say(line: str, *, err: bool = False) -> None:
    """Print one line, on standard error with `err`."""
    typer.echo(printable(line), err=err)


def say_lines(text: str) -> None:
    """Print a text of several lines, whose line ends are the caller's own."""
    for line in text.split("\n"):
        say(line)


def print_answer(answer: Any, output: Output) -> None:
    """Print one answer for programs, over several lines."""
    say_lines(_yaml(answer) if output is Output.YAML else json.dumps(answer, indent=2, ensure_ascii=False))


def print_item(item: Any, output: Output) -> None:
    """Print one of many answers: a line of JSON, or a YAML document."""
    say_lines(f"---\n{_yaml(item)}" if output is Output.YAML else json.dumps(item, ensure_ascii=False))


@contextmanager
def progress(title: str, *, shown: bool = True) -> Iterator[Callable[[float], None]]:
    """Show a progress bar on standard error, if that is a terminal; yield how to set its share."""
    console = Terminal(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    hidden = not (shown and console.is_terminal)
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda share: bar.update(task, completed=share)


class Terminal(Console):
    """Output of tables and progress. No text in them is markup, a link or a control code."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render, with the text of `Text` escaped before it is wrapped."""
        if isinstance(renderable, Text) and not renderable.plain.isprintable():
            renderable = renderable.copy()
            renderable.plain = printable(renderable.plain)
        return super().render(renderable, options)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)


def _yaml(answer: Any) -> str:
    """Return the answer in YAML: in ASCII where YAML would leave a mark of direction unescaped."""
    text = str(yaml.safe_dump(answer, sort_keys=False, allow_unicode=True)).removesuffix("\n")
    if text.replace("\n", "").isprintable():
        return text
    return str(yaml.safe_dump(answer, sort_keys=False)).removesuffix("\n")
