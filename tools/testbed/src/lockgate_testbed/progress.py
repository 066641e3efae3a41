"""Progress of a long job: a bar on a terminal, a line every tenth elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Return a function to call with how much of `total` is done; it draws on stderr."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(console, title, total)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as shown:
        task = shown.add_task(title, total=total)
        yield lambda done: shown.update(task, completed=done)


def _lines(console: Console, title: str, total: int) -> Callable[[int], None]:
    printed = 0

    def told(done: int) -> None:
        nonlocal printed
        tenths = 10 * done // total if total else 10
        if tenths > printed:
            printed = tenths
            console.print(f"{title}: {done:,} of {total:,}", highlight=False)

    return told
