"""The operator's commands: ask the service, show the answer, and end with exit code 1 if it
refuses.
"""

from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import RenderableType

from lockgate_coordinator.operate.client import CoordinatorClient
from lockgate_coordinator.operate.faults import NotFound
from lockgate_coordinator.operate.options import (
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
from lockgate_coordinator.operate.output import Output, OutputOption, Terminal, print_answer, say
from lockgate_coordinator.operate.tables import group_view, groups_table
from lockgate_coordinator.operate.trust import Trust
from lockgate_coordinator.operate.watching import follow, live

Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many readers to show.")]
After = Annotated[
    str | None,
    typer.Option("--after", help="Show the readers after this one: SOURCE/SUBTASK, or with --source SUBTASK."),
]
OfSource = Annotated[str | None, typer.Option("--source", help="Show the readers of this source alone.")]
Splits = Annotated[bool, typer.Option("--splits", help="Show the readers' splits too.")]


def groups(
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
    output: OutputOption = Output.TABLE,
    watch: Watch = False,
) -> None:
    """List the groups: their watermarks and ceilings, and the readers that hold them."""
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
    """Show one group: its rules, the readers that hold it, and each reader with its state, lease
    and the age of its last progress.
    """
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
    """Show one group as it changes, until Ctrl-C or SIGTERM. Without a terminal, or as json or
    yaml, print the group whenever its alignment changes. An outage is shown, and ends by itself.
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
    """Take a reader out of its group, whatever its epoch. It no longer counts until it registers
    again.
    """
    with asking(url, token_file, Trust(ca, cert, cert_key)) as client:
        done(
            client,
            lambda: client.evict(group, source, subtask),
            f"reader {source}/{subtask} is out of {group}",
            group,
            source,
        )


def leave(
    group: GroupArgument,
    source: SourceArgument,
    subtask: SubtaskArgument,
    epoch: Annotated[
        int, typer.Option("--epoch", min=1, help="The reader's epoch, as describe shows it with --output json.")
    ],
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
) -> None:
    """Let a reader leave its group. It is done only if the epoch is still the newest, so a
    successor stays.
    """
    with asking(url, token_file, Trust(ca, cert, cert_key)) as client:
        done(
            client,
            lambda: client.leave(group, source, subtask, epoch),
            f"reader {source}/{subtask} has left {group}",
            group,
            source,
        )


def forget(
    group: GroupArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
) -> None:
    """Delete a group with its configuration and all its readers. Live readers register again, and
    the group begins anew.
    """
    if not yes:
        typer.confirm(f"forget group {group} at {url}, with its configuration and all its readers?", abort=True)
    with asking(url, token_file, Trust(ca, cert, cert_key)) as client:
        done(client, lambda: client.forget(group), f"group {group} is forgotten", group, None)


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
        raise typer.BadParameter("--watch needs a terminal: leave it out, or call lockgate watch GROUP")
    live(console, view)


def done(client: CoordinatorClient, act: Callable[[], None], message: str, group: str, source: str | None) -> None:
    """Does an act and says so. An unknown name is refused with the names that are there."""
    try:
        act()
    except NotFound as fault:
        raise client.with_near_names(fault, group, source) from fault
    say(message)


def _not_both(output: Output, watch: bool) -> None:
    if output is not Output.TABLE and watch:
        raise typer.BadParameter(f"--output {output.value} prints once: leave --watch out, or call it again and again")
