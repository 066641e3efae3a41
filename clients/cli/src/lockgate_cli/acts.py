"""The commands that pause or resume a source, and that show or change a configuration."""

from typing import Annotated, Any

import typer

from lockgate.duration import spoken
from lockgate.errors import InvalidMessage
from lockgate.wire.codec import from_json, to_json
from lockgate.wire.events import GroupConfig
from lockgate.wire.fields import Json
from lockgate_cli.client import OperatorClient
from lockgate_cli.options import GroupArgument, SourceArgument, Yes, connected, milliseconds
from lockgate_cli.output import Output, OutputOption, print_answer, say

Reason = Annotated[str, typer.Option("--reason", help="The reason, shown in the journal and in the query's status.")]

Given = str | None

config = typer.Typer(no_args_is_help=True, help="Show or change a group's configuration.")


def setting(text: str) -> Any:
    """Return an option with the help `text`. Its name is that of the annotated parameter."""
    return typer.Option(help=text)


@connected()
def pause(
    client: OperatorClient, group: GroupArgument, source: SourceArgument, reason: Reason = "", yes: Yes = False
) -> None:
    """Pause a source: its query reads nothing, even after a restart, until you resume the source.
    The other queries of the group wait for it.
    """
    if not yes:
        typer.confirm(
            f"pause source {source} of group {group} at {client.url}? The other queries will wait for it", abort=True
        )
    client.pause(group, source, reason)
    say(f"source {source} of {group} is paused; to resume it: lockgate resume {group} {source}")


@connected()
def resume(client: OperatorClient, group: GroupArgument, source: SourceArgument) -> None:
    """Resume a paused source."""
    client.resume(group, source)
    say(f"source {source} of {group} is resumed")


@config.command("get", epilog="Example: `lockgate config get checkout`")
@connected()
def get(client: OperatorClient, group: GroupArgument, output: OutputOption = Output.TABLE) -> None:
    """Show a group's configuration."""
    found = to_json(client.configuration(group).config)
    if output is not Output.TABLE:
        print_answer(found, output)
        return
    for key, value in found.items():
        say(f"{key:<19} {_said(key, value)}")


@config.command("set", epilog="Example: `lockgate config set checkout --max-drift 5min`")
@connected()
def set_(
    client: OperatorClient,
    group: GroupArgument,
    max_drift: Annotated[Given, setting("How far readers may drift apart, such as 5min.")] = None,
    mode: Annotated[Given, setting("enforce, or observe to show the read limits without making readers wait.")] = None,
    catch_up: Annotated[Given, setting("joint, or strict to enforce max_drift during a backlog too.")] = None,
    lease: Annotated[Given, setting("Consider a reader lost if it does not report for this long, such as 30s.")] = None,
    update_interval: Annotated[Given, setting("How often readers report, such as 1s.")] = None,
    on_lost_reader: Annotated[
        Given, setting("exclude to stop waiting for a lost reader, or hold to wait until it returns.")
    ] = None,
    max_wait: Annotated[Given, setting("How long to wait for a slow reader, such as 10min; none for no limit.")] = None,
    on_max_wait: Annotated[
        Given, setting("After max_wait: alarm to log it and keep waiting, or proceed without the slow reader.")
    ] = None,
    expected_sources: Annotated[
        Given, setting("Sources to wait for at the start, separated by commas; none for no sources.")
    ] = None,
    yes: Yes = False,
) -> None:
    """Show the changes to a group's configuration, then apply them. Options that you leave out keep
    their values. If another operator changes the configuration at the same time, the command fails.
    """
    words = {"mode": mode, "catch_up": catch_up, "on_lost_reader": on_lost_reader, "on_max_wait": on_max_wait}
    spans = {"max_drift_ms": max_drift, "lease_ms": lease, "update_interval_ms": update_interval}
    wanted: Json = {key: value for key, value in words.items() if value is not None}
    wanted |= {key: milliseconds(value) for key, value in spans.items() if value is not None}
    if max_wait is not None:
        wanted["max_wait_ms"] = None if max_wait == "none" else milliseconds(max_wait)
    if expected_sources is not None:
        wanted["expected_sources"] = [] if expected_sources == "none" else expected_sources.split(",")
    if not wanted:
        raise typer.BadParameter(
            "give at least one option, such as --max-drift 5min; lockgate config set --help lists them"
        )
    found = client.configuration(group)
    before = to_json(found.config)
    try:
        after = to_json(from_json(GroupConfig, {**before, **wanted}))
    except InvalidMessage as error:
        raise typer.BadParameter("; ".join(f"{field} {detail}" for field, detail in error.faults)) from error
    changed = [key for key in after if before[key] != after[key]]
    if not changed:
        say(f"group {group} already has this configuration")
        return
    for key in changed:
        say(f"{key}: {_said(key, before[key])} -> {_said(key, after[key])}")
    if not yes:
        typer.confirm(f"change group {group} at {client.url}?", abort=True)
    client.configure(group, after, found.etag)
    say(f"group {group} is changed; its queries apply it with their next report")


def _said(key: str, value: object) -> str:
    if value is None or value == []:
        return "none"
    if key.endswith("_ms") and isinstance(value, int):
        return spoken(value)
    return ", ".join(value) if isinstance(value, list) else str(value)
