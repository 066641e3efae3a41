"""The file of `lockgate export`: JSON lines, a header, one line for each group, and an end.

    {"lockgate_export": 1, "made_at": "2026-11-23T12:00:00Z"}
    {"group": "checkout", "config": {"max_drift_ms": 300000, …}}
    {"end": 1}

The end counts the groups, so a file that was cut off is recognised. A person may edit the file, and
then has to count, too. Readers are not in it: a group gets them back from the readers themselves.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from lockgate.errors import InvalidMessage
from lockgate.wire.codec import from_json, to_json
from lockgate.wire.events import GroupConfig
from lockgate.wire.fields import NAME, NAME_RULE
from lockgate_cli.faults import Fault

VERSION = 1
FAULTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Saved:
    """A group's name and its configuration."""

    group: str
    config: GroupConfig


def written(groups: Sequence[Saved], made_at: datetime) -> str:
    lines: list[dict[str, object]] = [{"lockgate_export": VERSION, "made_at": made_at.strftime("%Y-%m-%dT%H:%M:%SZ")}]
    lines += [{"group": saved.group, "config": to_json(saved.config)} for saved in groups]
    lines.append({"end": len(groups)})
    return "".join(json.dumps(line) + "\n" for line in lines)


def read(text: str, where: str) -> list[Saved]:
    """Return the groups of the file `where`. Raises `Fault` with each fault and its line."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    parsed = [(number, _parsed(line, f"{where}, line {number}")) for number, line in lines]
    if not parsed or "lockgate_export" not in parsed[0][1]:
        raise Fault(f"{where} is no file of lockgate export: its first line must have lockgate_export")
    if (version := parsed[0][1]["lockgate_export"]) != VERSION:
        raise Fault(f"{where} has version {version!r}, and this lockgate reads version {VERSION}: use a newer lockgate")
    if "end" not in parsed[-1][1]:
        raise Fault(f"{where} was cut off: its last line must be the end, with the number of groups")
    if parsed[-1][1]["end"] != len(parsed) - 2:
        raise Fault(f"{where} has {len(parsed) - 2} groups, and its end says {parsed[-1][1]['end']!r}")
    return _checked(parsed[1:-1], where)


def _parsed(line: str, where: str) -> dict[str, object]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Fault(f"{where} must be a JSON object")
    return value


def _checked(entries: Iterable[tuple[int, dict[str, object]]], where: str) -> list[Saved]:
    found, faults = dict[str, Saved](), list[str]()
    for number, entry in entries:
        name = entry.get("group")
        if not isinstance(name, str) or not NAME.match(name):
            faults.append(f"line {number}: group {NAME_RULE}")
        elif name in found:
            faults.append(f"line {number}: group {name} is there twice")
        else:
            try:
                found[name] = Saved(name, from_json(GroupConfig, entry.get("config")))
            except InvalidMessage as error:
                faults += [f"line {number}: config.{key} {detail}" for key, detail in error.faults]
    if faults:
        more = "" if len(faults) <= FAULTS_SHOWN else f"; and {len(faults) - FAULTS_SHOWN} more"
        raise Fault(f"{where} cannot be imported: {'; '.join(faults[:FAULTS_SHOWN])}{more}")
    return list(found.values())
