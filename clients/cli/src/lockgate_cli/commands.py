"""Commands that list, show, watch and change groups. They exit with 1 if the service refuses."""

from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import RenderableType

from lockgate_cli.client import CoordinatorClient
from lockgate_cli.faults import NotFound
from lockgate_cli.options import (
    DEFAULT_URL,
    Ca,
    Cert,
    CertKey,
    GroupArgument,
    SourceArgument,
    SubtaskArgument,
    TokenFile,
    Url,
    Watch,
    asking,
)
from lockgate_cli.output import Output, OutputOption, Terminal, print_answer, say
from lockgate_cli.tables import group_view, groups_table
from lockgate_cli.trust import Trust
from lockgate_cli.watching import follow, live

Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="Show at most this many readers.")]
After = Annotated[
    str | None,
    typer.Option("--after", help="Continue after this reader: SOURCE/SUBTASK, or SUBTASK with --source."),
]
OfSource = Annotated[str | None, typer.Option("--source", help="Show only the readers of this source.")]
Splits = Annotated[bool, typer.Option("--partitions", help="Also show the partitions of each reader.")]


def groups(
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
    output: OutputOption = Output.TABLE,
    watch: Watch = False,
) -> None:
    """List all groups with their watermarks, read limits and blockers."""
    _not_both(output, watch)
    with asking(url, token_file, Trust(ca, cert, cert_key)) as client:
        if output is not Output.TABLE:
            print_answer(client.groups(), output)
        else:
            _show(lambda width: groups_table(client.groups()), watch=watch)


def describe(
    group: GroupArgument,
    source: OfSource = None,
    splits: Splits = False,
    limit: Limit = 100,
    after: After = None,
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
    output: OutputOption = Output.TABLE,
    watch: Watch = False,
) -> None:
    """Show one group: its rules, what it waits for, and each reader's state, lease and progress."""
    _not_both(output, watch)
    with asking(url, token_file, Trust(ca, cert, cert_key)) as client:
        try:
            if output is not Output.TABLE:
                print_answer(
                    client.group(group, limit, after) if source is None else client.source(group, source, limit, after),
                    output,
                )
                return
            _show(lambda width: _described(client, group, source, splits, limit, after, width), watch=watch)
        except NotFound as fault:
            raise client.with_near_names(fault, group, source) from fault


def watch(
    group: GroupArgument,
    source: OfSource = None,
    splits: Splits = False,
    limit: Limit = 100,
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Watch one group until Ctrl-C or SIGTERM. Without a terminal, or with --output json or yaml,
    print the group whenever its alignment changes. If the coordinator is unreachable, keep trying.
    """
    console = Terminal()
    with asking(url, token_file, Trust(ca, cert, cert_key)) as client:
        try:
            if console.is_terminal and output is Output.TABLE:
                live(console, lambda width: _described(client, group, source, splits, limit, None, width))
            else:
                follow(lambda: client.group(group, limit), output)
        except NotFound as fault:
            raise client.with_near_names(fault, group, source) from fault


def evict(
    group: GroupArgument,
    source: SourceArgument,
    subtask: SubtaskArgument,
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
) -> None:
    """Remove a reader from its group, whatever its epoch. The others stop waiting for it, so its
    rows may be late. A live reader registers again.
    """
    with asking(url, token_file, Trust(ca, cert, cert_key)) as client:
        done(
            client,
            lambda: client.evict(group, source, subtask),
            f"reader {source}/{subtask} is evicted from {group}",
            group,
            source,
        )


def leave(
    group: GroupArgument,
    source: SourceArgument,
    subtask: SubtaskArgument,
    epoch: Annotated[
        int, typer.Option("--epoch", min=1, help="The reader's epoch, from lockgate describe --output json.")
    ],
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
) -> None:
    """Remove a reader from its group if this epoch is still its newest. A reader that has replaced
    it stays.
    """
    with asking(url, token_file, Trust(ca, cert, cert_key)) as client:
        done(
            client,
            lambda: client.leave(group, source, subtask, epoch),
            f"reader {source}/{subtask} has left {group}",
            group,
            source,
        )


def delete(
    group: GroupArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
) -> None:
    """Delete a group with its configuration, readers and journal. Live readers register again and
    create the group with their own configuration.
    """
    if not yes:
        typer.confirm(f"delete group {group} at {url}, with its configuration and all its readers?", abort=True)
    with asking(url, token_file, Trust(ca, cert, cert_key)) as client:
        done(client, lambda: client.delete(group), f"group {group} is deleted", group, None)


def _described(
    client: CoordinatorClient, group: str, source: str | None, splits: bool, limit: int, after: str | None, width: int
) -> RenderableType:
    found = client.group(group, limit, after if source is None else None)
    if splits:
        found["assignments"] = [
            client.splits(group, name) for name in found.get("enumerators", ()) if source in (None, name)
        ]
    names = [source] if source is not None else [each["source"] for each in found["sources"]] if splits else None
    if names is None:
        return group_view(found, found["sources"], splits=False, width=width)
    sources = [client.source(group, name, limit, after if source is not None else None) for name in names]
    return group_view(found, sources, splits=splits, width=width)


def _show(view: Callable[[int], RenderableType], *, watch: bool) -> None:
    console = Terminal()
    if not watch:
        console.print(view(console.width))
        return
    if not console.is_terminal:
        raise typer.BadParameter("--watch needs a terminal: leave it out, or run lockgate watch GROUP")
    live(console, view)


def done(client: CoordinatorClient, act: Callable[[], None], message: str, group: str, source: str | None) -> None:
    """Run `act` and print `message`. For an unknown name, raise a fault with similar names."""
    try:
        act()
    except NotFound as fault:
        raise client.with_near_names(fault, group, source) from fault
    say(message)


def _not_both(output: Output, watch: bool) -> None:
    if output is not Output.TABLE and watch:
        raise typer.BadParameter(f"--output {output.value} prints once: leave --watch out, or run lockgate watch")
