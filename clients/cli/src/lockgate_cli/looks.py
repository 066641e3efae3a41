"""The commands `journal` and `check`, for operators and probes."""

import json
import time
from contextlib import suppress
from typing import Annotated

import typer

from lockgate.duration import spoken
from lockgate.sentences import moment, reader_name
from lockgate.wire.fields import Json
from lockgate_cli.client import PAGE, OperatorClient
from lockgate_cli.options import GroupArgument, connected, milliseconds
from lockgate_cli.output import Output, OutputOption, print_answer, print_item, say

FOLLOW_S = 2.0
"""Seconds between two requests of --follow."""

UNHEALTHY, NO_ANSWER = 1, 3
"""The exit statuses of `check`, besides 0 for a healthy group and 2 for a usage error."""


@connected()
def journal(
    client: OperatorClient,
    group: GroupArgument,
    kind: Annotated[str, typer.Option("--kind", help="Show only entries of these kinds, separated by commas.")] = "",
    source: Annotated[str, typer.Option("--source", help="Show only entries of this source.")] = "",
    since: Annotated[str | None, typer.Option("--since", help="Show the last DURATION, such as 1h.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=1000, help="Show at most this many of the newest entries.")
    ] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for new entries until Ctrl-C.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what happened in a group and which operator did it, the newest entry last. With --output
    json, print one entry per line. With --output yaml, print one document per entry.
    """
    after = "" if since is None else str(max(0, round(time.time() * 1000) - milliseconds(since)))
    items = client.journal(group, kind=kind, source=source, after=after, limit=limit, order="newest")[::-1]
    with suppress(KeyboardInterrupt):
        while True:
            for item in items:
                say(line(item)) if output is Output.TABLE else print_item(item, output)
            after = items[-1]["id"] if items else after
            if not follow:
                return
            time.sleep(FOLLOW_S)
            items = client.journal(group, kind=kind, source=source, after=after, limit=PAGE, order="oldest")


def line(entry: Json) -> str:
    whose = f" {entry['source']}" if "source" in entry else ""
    whose += f"/{entry['subtask']}" if "subtask" in entry else ""
    by = f" by {entry['by']}" if entry["by"] else ""
    told = [(key, value) for key, value in entry["details"].items() if value not in (None, "", [], {})]
    details = ", ".join(f"{key} {_shown(key, value)}" for key, value in told)
    return f"{moment(entry['at'])} {entry['kind'].replace('_', ' ')}{whose}{by}: {entry['reason']}" + (
        f" ({details})" if details else ""
    )


@connected(NO_ANSWER)
def check(
    client: OperatorClient,
    group: GroupArgument,
    max_drift: Annotated[
        str | None, typer.Option("--max-drift", help="Fail if the drift is larger than this, such as 10min.")
    ] = None,
    stuck_for: Annotated[
        str | None, typer.Option("--stuck-for", help="Fail if the slowest reader makes no progress for this long.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Check a group. For cron and probes: exit 0 if healthy, 1 if not (one line per reason), 2 on
    usage errors, 3 if the coordinator or group is not found.
    """
    most = None if max_drift is None else milliseconds(max_drift)
    patience = None if stuck_for is None else milliseconds(stuck_for)
    found, of_sources = client.whole_group(group)
    readers = [{**reader, "source": source} for source, each in of_sources.items() for reader in each]
    reasons = findings(found, readers, most, patience)
    if output is not Output.TABLE:
        print_answer({"group": group, "healthy": not reasons, "reasons": reasons, "readers": len(readers)}, output)
    elif reasons:
        for reason in reasons:
            say(f"{group}: {reason}")
    else:
        say(f"{group} is healthy: {len(readers)} readers")
    if reasons:
        raise typer.Exit(UNHEALTHY)


def findings(group: Json, readers: list[Json], max_drift: int | None, stuck_for: int | None) -> list[str]:
    """Return the reasons why a group is not healthy, or an empty list for a healthy group.

    `readers` are all its readers, each with its `source`. `max_drift` and `stuck_for` are limits in
    ms, or None for no limit.
    """
    reasons = [f"the expected source {source} has not reported" for source in group["waiting_for"]]
    drift = group["drift_ms"]
    if max_drift is not None and drift is not None and drift > max_drift:
        reasons.append(f"its readers are {spoken(drift)} apart, more than {spoken(max_drift)}")
    blockers = {reader_name(entry) for entry in group["alignment"]["blocked_by"]}
    for reader in readers:
        name, age = reader_name(reader), reader["progress_age_ms"]
        if reader["state"] == "lost":
            reasons.append(f"reader {name} is lost")
        elif reader["overdue"]:
            reasons.append(f"reader {name} has waited for {spoken(reader['waiting_ms'] or 0)}, longer than max_wait_ms")
        elif stuck_for is not None and name in blockers and age is not None and age > stuck_for:
            reasons.append(f"the group waits for reader {name}, which has made no progress for {spoken(age)}")
    return reasons


def _shown(key: str, value: object) -> str:
    if key.endswith("_ms") and isinstance(value, int):
        return spoken(value)
    if key in ("since", "watermark", "read_limit") and isinstance(value, int):
        return moment(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)
