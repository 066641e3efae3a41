"""The commands that list, show and watch groups, and that remove readers and groups."""

from typing import Annotated

import typer
from rich.console import RenderableType

from lockgate_cli.client import OperatorClient
from lockgate_cli.options import GroupArgument, SourceArgument, SubtaskArgument, Yes, connected
from lockgate_cli.output import Output, OutputOption, Terminal, print_answer, say
from lockgate_cli.tables import group_view, groups_table
from lockgate_cli.watching import follow, live

Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="Show at most this many readers.")]
After = Annotated[
    str | None, typer.Option("--after", help="Continue after this reader: SOURCE/SUBTASK, or SUBTASK with --source.")
]
OfSource = Annotated[str | None, typer.Option("--source", help="Show only the readers of this source.")]
Splits = Annotated[bool, typer.Option("--partitions", help="Also show the partitions of each reader.")]
Watch = Annotated[bool, typer.Option("--watch", help="Refresh every two seconds until Ctrl-C.")]


@connected()
def groups(client: OperatorClient, output: OutputOption = Output.TABLE, watch: Watch = False) -> None:
    """List all groups with their watermarks, read limits and blockers."""
    console = Terminal()
    if watch and output is not Output.TABLE:
        raise typer.BadParameter(f"--output {output.value} prints once: leave --watch out, or run lockgate watch")
    if watch and not console.is_terminal:
        raise typer.BadParameter("--watch needs a terminal: leave it out, or run lockgate watch GROUP")
    if watch:
        live(console, lambda width: groups_table(client.groups()))
    elif output is not Output.TABLE:
        print_answer(client.groups(), output)
    else:
        console.print(groups_table(client.groups()))


@connected()
def describe(
    client: OperatorClient,
    group: GroupArgument,
    source: OfSource = None,
    splits: Splits = False,
    limit: Limit = 100,
    after: After = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show a group: its configuration and blockers, and each reader's state, lease and progress."""
    if output is Output.TABLE:
        console = Terminal()
        console.print(_described(client, group, source, splits, limit, after, console.width))
    elif source is None:
        print_answer(client.group(group, limit, after), output)
    else:
        print_answer(client.source(group, source, limit, after), output)


@connected()
def watch(
    client: OperatorClient,
    group: GroupArgument,
    source: OfSource = None,
    splits: Splits = False,
    limit: Limit = 100,
    output: OutputOption = Output.TABLE,
) -> None:
    """Watch one group until Ctrl-C or SIGTERM. Without a terminal, or with --output json or yaml,
    print the group whenever its alignment changes. If the coordinator is unreachable, keep trying.
    """
    console = Terminal()
    if console.is_terminal and output is Output.TABLE:
        live(console, lambda width: _described(client, group, source, splits, limit, None, width))
    else:
        follow(lambda: client.group(group, limit), output)


@connected()
def evict(client: OperatorClient, group: GroupArgument, source: SourceArgument, subtask: SubtaskArgument) -> None:
    """Remove a reader from its group, whatever its epoch. The others stop waiting for it, so its
    rows may be late. A live reader registers again.
    """
    client.evict(group, source, subtask)
    say(f"reader {source}/{subtask} is evicted from {group}")


@connected()
def delete(client: OperatorClient, group: GroupArgument, yes: Yes = False) -> None:
    """Delete a group with its configuration, readers and journal. Live readers register again and
    create the group with their own configuration.
    """
    if not yes:
        typer.confirm(f"delete group {group} at {client.url}, with its configuration and all its readers?", abort=True)
    client.delete(group)
    say(f"group {group} is deleted")


def _described(
    client: OperatorClient, group: str, source: str | None, splits: bool, limit: int, after: str | None, width: int
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
