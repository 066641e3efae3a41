"""Commands that look at a group for an operator or a probe: its journal, and whether it is well."""

import json
import time
from typing import Annotated

import typer

from lockgate.duration import spoken
from lockgate_coordinator.operate.client import CoordinatorClient, Json
from lockgate_coordinator.operate.durations import milliseconds
from lockgate_coordinator.operate.faults import NotFound
from lockgate_coordinator.operate.options import (
    DEFAULT_URL,
    Ca,
    Cert,
    CertKey,
    GroupArgument,
    TokenFile,
    Url,
    asking,
)
from lockgate_coordinator.operate.output import Output, OutputOption, print_answer, print_item, say
from lockgate_coordinator.operate.trust import Trust
from lockgate_coordinator.sentences import holder, moment

FOLLOW_S = 2.0
"""How often --follow asks again."""

NOT_WELL, NO_ANSWER = 1, 3
"""Exit statuses of `check`; 0 is well, and 2 a wrong call."""

READERS = 1_000


def journal(
    group: GroupArgument,
    kind: Annotated[str, typer.Option("--kind", help="Only these kinds, commas between.")] = "",
    source: Annotated[str, typer.Option("--source", help="Only entries of this source.")] = "",
    since: Annotated[str | None, typer.Option("--since", help="Only the last so long: 1h, for example.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many entries, the newest.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more, until Ctrl-C.")] = False,
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """What has happened in a group, and which operator did it; the newest entry last. As json
    one entry a line, as yaml one entry a document.
    """
    after = "" if since is None else str(max(0, round(time.time() * 1000) - milliseconds(since)))
    with asking(url, token_file, Trust(ca, cert, cert_key)) as client:
        try:
            items = client.journal(group, kind=kind, source=source, after=after, limit=limit, order="newest")[::-1]
        except NotFound as fault:
            raise client.with_near_names(fault, group) from fault
        try:
            while True:
                for item in items:
                    say(line(item)) if output is Output.TABLE else print_item(item, output)
                after = items[-1]["id"] if items else after
                if not follow:
                    return
                time.sleep(FOLLOW_S)
                items = client.journal(group, kind=kind, source=source, after=after, limit=READERS, order="oldest")
        except KeyboardInterrupt:
            return


def line(entry: Json) -> str:
    """One entry for a person."""
    whose = f" {entry['source']}" if "source" in entry else ""
    whose += f"/{entry['subtask']}" if "subtask" in entry else ""
    by = f" by {entry['by']}" if entry["by"] else ""
    details = ", ".join(f"{key} {_shown(key, value)}" for key, value in entry["details"].items() if _is_told(value))
    return f"{moment(entry['at'])} {entry['kind'].replace('_', ' ')}{whose}{by}: {entry['reason']}" + (
        f" ({details})" if details else ""
    )


def check(
    group: GroupArgument,
    max_drift: Annotated[str | None, typer.Option("--max-drift", help="Not well above this drift: 10min.")] = None,
    stuck_for: Annotated[
        str | None, typer.Option("--stuck-for", help="Not well where a holder has not moved for so long: 15min.")
    ] = None,
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Whether a group is well, for cron and probes. Exit status 0: it is. 1: it is not, and each
    reason is a line. 2: the call is wrong. 3: the coordinator or the group is not there.
    """
    most = None if max_drift is None else milliseconds(max_drift)
    patience = None if stuck_for is None else milliseconds(stuck_for)
    try:
        with asking(url, token_file, Trust(ca, cert, cert_key)) as client:
            found, readers = _whole(client, group)
    except typer.Exit as ended:
        raise typer.Exit(NO_ANSWER) from ended
    reasons = findings(found, readers, most, patience)
    if output is not Output.TABLE:
        print_answer({"group": group, "well": not reasons, "reasons": reasons, "readers": len(readers)}, output)
    elif reasons:
        for reason in reasons:
            say(f"{group}: {reason}")
    else:
        say(f"{group} is well: {len(readers)} readers")
    if reasons:
        raise typer.Exit(NOT_WELL)


def findings(group: Json, readers: list[Json], max_drift: int | None, stuck_for: int | None) -> list[str]:
    """Why a group is not well, a sentence each. `readers`: all of them, each with its `source`."""
    reasons = [f"the expected source {source} has not reported" for source in group["waiting_for"]]
    drift = group["drift_ms"]
    if max_drift is not None and drift is not None and drift > max_drift:
        reasons.append(f"its readers are {spoken(drift)} apart, and {spoken(max_drift)} are allowed")
    holders = {holder(held) for held in group["alignment"]["blocked_by"]}
    for reader in readers:
        name, age = holder(reader), reader["progress_age_ms"]
        if reader["state"] == "lost":
            reasons.append(f"reader {name} is lost")
        elif reader["overdue"]:
            reasons.append(f"reader {name} has waited for {spoken(reader['waiting_ms'] or 0)}, which is too long")
        elif stuck_for is not None and name in holders and age is not None and age > stuck_for:
            reasons.append(f"reader {name} holds the group, and has not moved for {spoken(age)}")
    return reasons


def _whole(client: CoordinatorClient, group: str) -> tuple[Json, list[Json]]:
    """The group and all its readers."""
    first = page = client.group(group, READERS)
    readers = list[Json]()
    while True:
        readers += [{**reader, "source": each["source"]} for each in page["sources"] for reader in each["readers"]]
        if page["next"] is None:
            return first, readers
        page = client.group(group, READERS, page["next"])


def _is_told(value: object) -> bool:
    return value not in (None, "", [], {})


def _shown(key: str, value: object) -> str:
    if key.endswith("_ms") and isinstance(value, int):
        return spoken(value)
    if key in ("since", "watermark", "ceiling") and isinstance(value, int):
        return moment(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)
