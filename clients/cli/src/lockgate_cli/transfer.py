"""The commands `export` and `import`, which copy groups and their configurations through a file.

    {"lockgate_export": 1, "made_at": "2026-11-23T12:00:00Z", "groups": {"checkout": {…}, …}}

Readers are not in the file, because they register again themselves. An import looks at every group
before it writes anything. Each write names the configuration that it replaces, so no other
operator's change is lost. An interrupted import can be repeated, because it skips groups that
already have the configuration in the file.
"""

import json
import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from lockgate.errors import InvalidMessage
from lockgate.wire.codec import from_json, to_json
from lockgate.wire.events import GroupConfig
from lockgate.wire.fields import NAME, NAME_RULE, Name
from lockgate_cli.client import Fault, NotFound, OperatorClient
from lockgate_cli.options import Patterns, connected
from lockgate_cli.output import progress, say, say_lines
from lockgate_http.errors import AlignmentError

VERSION = 1
NAMES_SHOWN = 10
NEW = "new"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Export:
    """The groups in a file, with their configurations."""

    groups: Mapping[Name, GroupConfig]


Output = Annotated[
    Path | None, typer.Option("--output", "-o", dir_okay=False, help="Write to this file instead of standard output.")
]
File = Annotated[str, typer.Argument(metavar="FILE", help="A file from lockgate export; - reads standard input.")]
Replace = Annotated[bool, typer.Option("--replace", help="Overwrite the configuration of existing groups.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would change, without changing it.")]


@connected()
def export_command(client: OperatorClient, groups: Patterns = None, output: Output = None) -> None:
    """Write groups and their configurations as JSON, for `lockgate import`."""
    found = dict[str, GroupConfig]()
    for name in _shown("exporting", _chosen([item["group"] for item in client.groups()["items"]], groups or ["*"])):
        if not NAME.match(name):
            say(f"lockgate: group {name} is left out: a name {NAME_RULE}", err=True)
            continue
        with suppress(NotFound):  # deleted a moment ago
            found[name] = client.configuration(name).config
    made_at = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    text = json.dumps({"lockgate_export": VERSION, "made_at": made_at, **to_json(Export(found))}, indent=2)
    if output is None:
        say_lines(text)
    else:
        _replace(output, text + "\n")
        say(f"{_groups(len(found))} written to {output}", err=True)


@connected()
def import_command(client: OperatorClient, file: File, replace: Replace = False, dry_run: DryRun = False) -> None:
    """Create the groups in a file from `lockgate export`, with their configurations.

    Nothing changes if the file has an error, or if a group exists with another configuration. To
    overwrite existing configurations, use --replace. Readers are not affected.
    """
    client.mark(f"import-{secrets.token_hex(6)}")
    groups = read(_text(file), file)
    steps = [(name, etag) for name in _shown("looking", [*groups]) if (etag := _replaced(client, name, groups[name]))]
    there = [name for name, etag in steps if etag != NEW]
    if there and not replace:
        raise Fault(
            f"{_groups(len(there))} there with another configuration: {_some(there)}. Nothing was imported; "
            "--replace overwrites"
        )
    for done, (name, etag) in enumerate(_shown("importing", [] if dry_run else steps)):
        try:
            client.configure(name, to_json(groups[name]), None if etag == NEW else etag)
        except AlignmentError as fault:
            raise Fault(
                f"group {name}: {fault}. {done} of {_groups(len(steps))} imported; the same command imports the rest"
            ) from fault
    say(
        f"{'would be' if dry_run else 'imported'}: {len(steps) - len(there)} new, {len(there)} replaced, "
        f"{len(groups) - len(steps)} already as in the file"
    )


def read(text: str, where: str) -> Mapping[str, GroupConfig]:
    """Return the configurations in an exported `text`, by group, or raise `Fault`. `where` names
    the file in errors.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Fault(f"{where} is not valid JSON: {error}") from error
    if not isinstance(found, dict) or "lockgate_export" not in found:
        raise Fault(f"{where} is not a file from lockgate export: it has no lockgate_export")
    if (version := found["lockgate_export"]) != VERSION:
        raise Fault(f"{where} has version {version!r}, and this lockgate reads version {VERSION}: use a newer lockgate")
    try:
        return from_json(Export, found).groups
    except InvalidMessage as error:
        raise Fault(f"{where} cannot be imported: {error}") from error


def _replaced(client: OperatorClient, name: str, config: GroupConfig) -> str | None:
    """Return the `ETag` of the configuration to replace, `NEW` if the group does not exist, or None
    if the group already has the configuration.
    """
    try:
        found = client.configuration(name)
    except NotFound:
        return NEW
    return None if found.config == config else found.etag


def _chosen(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that match a pattern. Raises `Fault` if one other than `*` matches none."""
    for pattern in patterns:
        if pattern != "*" and not any(fnmatchcase(name, pattern) for name in names):
            raise Fault(f"no group fits {pattern}; there are {_some(names) if names else 'none'}")
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]


def _shown(what: str, items: Sequence[T]) -> Iterator[T]:
    """Yield the items, and show the progress on a terminal under the title `what`."""
    with progress(what) as advance:
        for number, item in enumerate(items, 1):
            yield item
            advance(number / len(items))


def _replace(path: Path, text: str) -> None:
    """Write `text` to `path` atomically. Raises `Fault` if this fails."""
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
        raise Fault(f"{file} cannot be read: it is not UTF-8") from error


def _groups(count: int) -> str:
    return "1 group is" if count == 1 else f"{count} groups are"


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
