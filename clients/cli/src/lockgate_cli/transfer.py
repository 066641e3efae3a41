"""The commands `export` and `import`: groups and their configurations to a file, and from a file
into a running coordinator.

An import first reads the whole file, then looks at every group, and writes only if nothing stands
against it. Each write says which configuration it replaces, so no change by somebody else is lost.
An import that ends in the middle is made again: groups that are already as in the file stay.
"""

import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from lockgate.wire.codec import to_json
from lockgate.wire.fields import NAME, NAME_RULE
from lockgate_cli.backup import Saved, read, written
from lockgate_cli.client import OperatorClient
from lockgate_cli.faults import Fault, NotFound
from lockgate_cli.options import Patterns, connected
from lockgate_cli.output import progress, say, say_lines
from lockgate_http.errors import AlignmentError

NAMES_SHOWN = 10
T = TypeVar("T")

Output = Annotated[
    Path | None, typer.Option("--output", "-o", dir_okay=False, help="Write to this file instead of standard output.")
]
File = Annotated[str, typer.Argument(metavar="FILE", help="A file from lockgate export; - reads standard input.")]
Replace = Annotated[bool, typer.Option("--replace", help="Overwrite the configuration of existing groups.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would change, without changing it.")]


@connected()
def export_command(client: OperatorClient, groups: Patterns = None, output: Output = None) -> None:
    """Write the groups and their configurations as JSON lines, for `lockgate import`."""
    saved = list[Saved]()
    for name in _shown("exporting", _chosen([item["group"] for item in client.groups()["items"]], groups or ["*"])):
        if not NAME.match(name):
            say(f"lockgate: group {name} is left out: a name {NAME_RULE}", err=True)
            continue
        with suppress(NotFound):  # deleted a moment ago
            saved.append(Saved(name, client.configuration(name).config))
    text = written(saved, datetime.now(timezone.utc))
    if output is None:
        say_lines(text.removesuffix("\n"))
    else:
        _replace(output, text)
        say(f"{_groups(len(saved))} written to {output}", err=True)


@connected()
def import_command(client: OperatorClient, file: File, replace: Replace = False, dry_run: DryRun = False) -> None:
    """Create the groups in a file from `lockgate export`, with their configurations.

    If the file has an error, or a group exists with another configuration, nothing changes;
    --replace overwrites it. Readers are not affected.
    """
    client.mark(f"import-{secrets.token_hex(6)}")
    saved = read(_text(file), file)
    steps = [(each, etag) for each in _shown("looking", saved) if (etag := _replaced(client, each)) is not None]
    there = [each.group for each, etag in steps if etag]
    if there and not replace:
        raise Fault(
            f"{_groups(len(there))} there with another configuration: {_some(there)}. Nothing was imported; "
            "--replace overwrites"
        )
    for done, (each, etag) in enumerate(_shown("importing", [] if dry_run else steps)):
        try:
            client.configure(each.group, to_json(each.config), etag or None)
        except AlignmentError as fault:
            raise Fault(
                f"group {each.group}: {fault}. {done} of {_groups(len(steps))} imported; the same command imports the "
                "rest"
            ) from fault
    say(
        f"{'would be' if dry_run else 'imported'}: {len(steps) - len(there)} new, {len(there)} replaced, "
        f"{len(saved) - len(steps)} already as in the file"
    )


def _replaced(client: OperatorClient, saved: Saved) -> str | None:
    """Return the `ETag` of the configuration to be replaced; "" for a new group, None if the group
    has this configuration already.
    """
    try:
        found = client.configuration(saved.group)
    except NotFound:
        return ""
    return None if found.config == saved.config else found.etag


def _chosen(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that fit a pattern. Raises `Fault` for a pattern that no group fits."""
    for pattern in patterns:
        if pattern != "*" and not any(fnmatchcase(name, pattern) for name in names):
            raise Fault(f"no group fits {pattern}; there are {_some(names) if names else 'none'}")
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]


def _shown(what: str, items: Sequence[T]) -> Iterator[T]:
    """Yield the items, with a progress bar on a terminal."""
    with progress(what) as advance:
        for number, item in enumerate(items, 1):
            yield item
            advance(number / len(items))


def _replace(path: Path, text: str) -> None:
    """Write another file and move it over this one, so that no half of a file is ever there."""
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
