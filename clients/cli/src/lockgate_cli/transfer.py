"""The commands `export` and `import`: groups and their configurations to a file, and from a file
into a running coordinator.

An import first reads the whole file, then looks at every group, and writes only if nothing stands
against it. Each write says which configuration it replaces, so no change by somebody else is lost.
An import that ends in the middle is made again: groups that are already as in the file stay.
"""

import os
import secrets
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lockgate.wire.codec import config_to_json
from lockgate.wire.events import NAME, NAME_RULE
from lockgate_cli.backup import Saved, read, written
from lockgate_cli.client import OperatorClient
from lockgate_cli.faults import Fault, NotFound
from lockgate_cli.options import Patterns, connected
from lockgate_cli.output import Terminal, say, say_lines

NAMES_SHOWN = 10
T = TypeVar("T")

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", dir_okay=False, help="Write to this file instead of standard output."),
]
File = Annotated[str, typer.Argument(metavar="FILE", help="A file from lockgate export; - reads standard input.")]
Replace = Annotated[bool, typer.Option("--replace", help="Overwrite the configuration of existing groups.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would change, without changing it.")]


@dataclass(frozen=True, slots=True)
class Step:
    """One group to be imported. `etag`: of the configuration to be replaced; None: a new group."""

    saved: Saved
    etag: str | None


@connected()
def export_command(
    client: OperatorClient,
    groups: Patterns = None,
    output: Output = None,
) -> None:
    """Write the groups and their configurations as JSON lines, for `lockgate import`.

    GROUP is a name, or a prefix followed by *. Without any, write all groups that the token may
    read.
    """
    there = [item["group"] for item in client.groups()["items"]]
    names = _chosen(there, groups or [])
    for odd in (name for name in names if not NAME.match(name)):
        say(f"lockgate: group {odd} is left out: a name {NAME_RULE}", err=True)
    names = [name for name in names if NAME.match(name)]
    saved = list[Saved]()
    for name in _shown("exporting", names):
        with suppress(NotFound):  # deleted a moment ago
            saved.append(Saved(name, client.configuration(name).config))
    text = written(saved, datetime.now(timezone.utc))
    if output is None:
        say_lines(text.removesuffix("\n"))
    else:
        _replace(output, text)
        say(f"{_groups(len(saved))} written to {output}", err=True)


@connected()
def import_command(
    client: OperatorClient,
    file: File,
    replace: Replace = False,
    dry_run: DryRun = False,
) -> None:
    """Create the groups in a file from `lockgate export`, with their configurations.

    If the file has an error, or a group exists with another configuration, nothing changes;
    --replace overwrites it. Readers are not affected.
    """
    client.mark(f"import-{secrets.token_hex(6)}")
    saved = read(_text(file), file)
    steps = list(_steps(client, _shown("looking", saved)))
    there = [step.saved.group for step in steps if step.etag is not None]
    if there and not replace:
        raise Fault(
            f"{_groups(len(there))} there with another configuration: {_some(there)}. Nothing was imported; "
            "--replace overwrites"
        )
    if not dry_run:
        _write(client, steps)
    new = len(steps) - len(there)
    say(
        f"{'would be' if dry_run else 'imported'}: {new} new, {len(there)} replaced, "
        f"{len(saved) - len(steps)} already as in the file"
    )


def _steps(client: OperatorClient, groups: Iterable[Saved]) -> Iterator[Step]:
    for saved in groups:
        try:
            found = client.configuration(saved.group)
        except NotFound:
            yield Step(saved, None)
        else:
            if found.config != saved.config:
                yield Step(saved, found.etag)


def _write(client: OperatorClient, steps: Sequence[Step]) -> None:
    done = 0
    try:
        for step in _shown("importing", steps):
            client.configure(step.saved.group, config_to_json(step.saved.config), step.etag)
            done += 1
    except Fault as fault:
        raise Fault(
            f"group {steps[done].saved.group}: {fault}. {done} of {_groups(len(steps))} imported; the same command "
            "imports the rest"
        ) from fault


def _chosen(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Raise `Fault` for a pattern that no group fits."""
    for pattern in patterns:
        if not any(_fits(pattern, name) for name in names):
            raise Fault(f"no group fits {pattern}; there are {_some(names) if names else 'none'}")
    return [name for name in names if not patterns or any(_fits(pattern, name) for pattern in patterns)]


def _fits(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def _shown(what: str, items: Sequence[T]) -> Iterator[T]:
    """Yield the items, with a progress bar on a terminal."""
    console = Terminal(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console,
        transient=True, disable=not console.is_terminal,
    )  # fmt: skip
    with bar:
        yield from bar.track(items, description=what)


def _replace(path: Path, text: str) -> None:
    """Write beside the file and move over it, so that no half of a file is ever there."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise Fault(f"{path} cannot be written: {error.strerror}") from error


def _text(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise Fault(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Fault(f"{file} cannot be read: it is no text in UTF-8") from error


def _groups(count: int) -> str:
    return "1 group is" if count == 1 else f"{count} groups are"


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
