"""Pure functions that turn the service's answers into tables for people (rich's renderables)."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lockgate.sentences import moment, paused_by, reader_name, span
from lockgate.wire.fields import Json
from lockgate_cli.words import assigned_splits, dated, distance, event_time_rate, rules

WIDE = 110
"""The width of a terminal at which the table of readers gets a column with their owners."""

NUMBERS = frozenset(
    {"drift", "waits", "readers", "lease", "progress", "batch", "position"}
    | {"late rows", "rows saved", "event-time rate", "producers lag"}
)
WHOLE = ("watermark", "read limit")
"""The columns whose values stay on one line."""

COLOURS = {
    "active": "green",
    "idle": "blue",
    "parked": "cyan",
    "finished": "bright_black",
    "lost": "red",
    "passed_over": "yellow",
    "waiting": "",
    "overdue": "red",
    "assigned": "green",
    "revoking": "yellow",
    "unassigned": "red",
    "missing": "bright_black",
}


def groups_table(groups: Json) -> RenderableType:
    """Return a table of all groups, followed by the groups that cannot be read."""
    sick = [
        Text(f"{item['group']} cannot be read: {item['reason']}. {item['remedy']}", style="red")
        for item in groups.get("unreadable", [])
    ]
    if not groups["items"] and sick:
        return Group(*sick)
    if not groups["items"]:
        return Text("there are no groups yet; the first reader that registers creates one")
    table = _table("group", "watermark", "read limit", "drift", "readers", "blocked by")
    for item in groups["items"]:
        held = item["blocked_by"]
        by = "–" if not held else reader_name(held[0]) + (f" +{len(held) - 1}" if len(held) > 1 else "")
        table.add_row(
            item["group"],
            moment(item["group_watermark"]),
            moment(item["max_desired_watermark"], unbounded="unbounded"),
            span(item["drift_ms"]),
            str(item["readers"]),
            by,
        )
    return Group(table, *sick) if sick else table


def group_view(group: Json, sources: Sequence[Json], *, splits: bool, width: int) -> RenderableType:
    """Return the view of a group: its watermark, its read limit, its blockers, and a table of
    readers.

    Args:
        group: The service's answer about the group.
        sources: The sources whose readers are shown: those in `group`, or the service's answers
            about single sources.
        splits: Whether to show splits, too. If so, the readers in `sources` include their splits,
            and `assignments` in `group` lists the splits that the coordinator assigns.
        width: The width of the terminal in characters. From `WIDE` on, owners of readers are shown.
    """
    readers = [(source["source"], reader) for source in sources for reader in source["readers"]]
    why = [Text(group["reason"])] if group.get("reason") else []
    parts: list[RenderableType] = [_head(group), Text(group["sentence"], style="bold"), *why, Text()]
    parts.append(_readers(readers, wide=width >= WIDE) if readers else Text("no readers"))
    told = [(source, reader) for source, reader in readers if reader.get("facts")]
    if told:
        parts += [Text(), _facts(told)]
    for name, count in group.get("enumerators", {}).items():
        parts += [Text(), Text(assigned_splits(name, count))]
    if splits:
        parts += [Text(), _splits(readers)]
        parts += [part for each in group.get("assignments", ()) for part in (Text(), _assignments(each))]
    return Group(*parts, *_more(group, sources))


def _head(group: Json) -> RenderableType:
    config, event, now = group["config"], group["alignment"], group["now"]
    table = Table.grid(padding=(0, 2))
    table.add_row("group", Text(group["group"], style="bold"))
    table.add_row("watermark", dated(event["group_watermark"], now))
    table.add_row("read limit", dated(event["max_desired_watermark"], now))
    if event["would_be"] is not None:
        table.add_row("would be", f"{dated(event['would_be'], now)}, under enforce")
    table.add_row("drift", distance(group))
    for paused in group.get("paused_sources", []):
        said = paused_by(paused["source"], paused["by"], paused["reason"])
        table.add_row("paused", f"{dated(paused['at'], now)}: {said}")
    for row in rules(config):
        table.add_row(*row)
    table.add_row("created", dated(group["created_at"], now))
    table.add_row("readers", str(group["readers"]))
    return table


def _readers(readers: Sequence[tuple[str, Json]], *, wide: bool) -> Table:
    owned = wide and any(reader["owner"] for _, reader in readers)
    table = _table(
        "reader", "state", "watermark", "drift", "waits", "lease", "progress", "batch", *(["owner"] if owned else [])
    )
    for source, reader in readers:
        age = reader["progress_age_ms"]
        cells: list[str | Text] = [
            f"{source}/{reader['subtask']}",
            _coloured(reader["state"]),
            moment(reader["watermark"]),
            span(reader["drift_ms"]),
            _held(reader),
            span(reader["lease_left_ms"]),
            "–" if age is None else f"{span(age)} ago",
            "–" if reader["batch_id"] is None else str(reader["batch_id"]),
        ]
        table.add_row(*cells, *([reader["owner"]] if owned else []))
    return table


def _facts(readers: Sequence[tuple[str, Json]]) -> Table:
    """Return a table of what the readers report about their queries, such as late rows."""
    table = _table("reader", "late rows", "rows saved", "event-time rate", "producers lag", "retention left")
    for source, reader in readers:
        facts = reader["facts"]
        left = span(facts["retention_left_ms"])
        table.add_row(
            f"{source}/{reader['subtask']}",
            _count(facts["late_rows"]),
            _count(facts["rows_saved"]),
            "–" if facts["event_time_rate"] is None else event_time_rate(facts["event_time_rate"]),
            span(facts["producer_lag_ms"]),
            left if facts["retention_split"] is None else f"{left} ({facts['retention_split']})",
        )
    return table


def _count(rows: int | None) -> str:
    return "–" if rows is None else f"{rows:,}"


def _splits(readers: Sequence[tuple[str, Json]]) -> Table:
    table = _table("reader", "partition", "state", "watermark", "drift", "position")
    for source, reader in readers:
        for name, split in reader.get("splits", {}).items():
            place = "–" if split["position"] is None else str(split["position"])
            place += "" if split["position"] is None or split["end"] is None else f" of {split['end']}"
            shown = moment(split["watermark"]), span(split["drift_ms"]), place
            table.add_row(f"{source}/{reader['subtask']}", name, _coloured(split["state"]), *shown)
    return table


def _assignments(found: Json) -> Table:
    """Return a table of a source's splits, with the reader and the position of each."""
    table = _table("partition", "reader", "state", "position", "assigned")
    for item in found["items"]:
        table.add_row(
            item["split"],
            "–" if item["subtask"] is None else f"{found['source']}/{item['subtask']}",
            _coloured(item["state"]),
            str(item["position"]),
            "–" if item["since"] is None else f"{span(found['now'] - item['since'])} ago",
        )
    return table


def _held(reader: Json) -> Text:
    """Return how long the reader has waited at the read limit, in red if it is overdue."""
    return Text(span(reader["waiting_ms"]), style=COLOURS["overdue" if reader["overdue"] else "waiting"])


def _coloured(state: str) -> Text:
    return Text(state.replace("_", " "), style=COLOURS.get(state, ""))


def _more(group: Json, sources: Sequence[Json]) -> list[RenderableType]:
    """Return a hint on how to see the next page of the group or of the source, if there is one."""
    after = sources[0]["next"] if len(sources) == 1 and "next" in sources[0] else group["next"]
    return [] if after is None else [Text(f"more readers: use --after {after}, or a higher --limit", style="italic")]


def _table(*columns: str) -> Table:
    """Return an empty table. Columns of numbers are aligned right, and long names are wrapped."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for name in columns:
        table.add_column(name, justify="right" if name in NUMBERS else "left", no_wrap=name in WHOLE, overflow="fold")
    return table
