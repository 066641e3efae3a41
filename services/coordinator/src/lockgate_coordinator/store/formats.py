"""Formats: coordinators of several releases over one Redis, as in a rolling upgrade.

A release that adds a field to a record raises `FORMAT`. A release whose new field must not be
ignored raises `NEEDS` too: to go on without it would make a reader lost, say, that only waits. The
head of a group has the highest `format` and `needs` of all releases that have written to it. So a
coordinator of an older release notices, and acts by these numbers:

* `needs` above its own format: it neither reads nor writes the group. Its requests are answered
  with 503, which names the remedy. Nothing is erased, and clients wait at their last ceiling.
* `format` above its own: it keeps each field that it does not know, and writes it back as it was. A
  reader's new report replaces the one before as a whole, so the unknown fields of that one go.
* Neither: it decodes the fast way, which looks for no unknown field.

A missing field has its default, so a newer coordinator reads what an older one wrote.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from lockgate.group.group import Group
from lockgate.group.reader import Arriving, Path, Reader
from lockgate.wire.events import GroupConfig, ReaderFacts, ReportedWatermarkEvent, SplitReport
from lockgate_coordinator.store.base import UnreadableGroup

FORMAT: Final = 3
"""The format of this release's records: raised with each field that is added."""

NEEDS: Final = 0
"""The oldest format whose coordinators may work on groups of this release."""

NEEDS_PAUSES: Final = 2
"""The same of a group with paused sources: older coordinators would announce no pause."""

EACH: Final = "*"
"""Stands for every name of a map."""

_RECORDS: Final[Mapping[tuple[str, ...], type]] = {
    ("head",): Group,
    ("head", "config"): GroupConfig,
    ("reader",): Reader,
    ("reader", "arriving"): Arriving,
    ("reader", "reported"): ReportedWatermarkEvent,
    ("reader", "reported", "facts"): ReaderFacts,
    ("reader", "reported", "splits", EACH): SplitReport,
}
_NOT_STORED: Final = {"name", "readers", "unknown"}
_BESIDES: Final[Mapping[tuple[str, ...], set[str]]] = {("head",): {"format", "needs"}}

KNOWN: Final[Mapping[tuple[str, ...], set[str]]] = {
    path: {each.name for each in fields(kind)} - _NOT_STORED | _BESIDES.get(path, set())
    for path, kind in _RECORDS.items()
}
"""The fields of each record of this release."""


@dataclass(frozen=True, slots=True)
class Newer:
    """What a newer coordinator has written to a group: its format and needs, and the fields of the
    head that are not known here.
    """

    format: int
    needs: int
    head: Mapping[Path, Any]


def needs_of(group: Group) -> int:
    """Return the oldest format whose coordinators may work on this group."""
    return NEEDS_PAUSES if group.paused_sources else NEEDS


def check(name: str, needs: int) -> None:
    """Raise `UnreadableGroup` for a group that this release must not touch."""
    if needs > FORMAT:
        raise UnreadableGroup(
            name,
            f"it was written by a newer coordinator: it needs format {needs}, and this one supports {FORMAT}",
            "Upgrade this coordinator to the newer release",
        )


def unknown(record: str, value: Mapping[str, Any]) -> dict[Path, Any]:
    """Return the fields of a record ("head" or "reader") that this release does not know,
    by path.
    """
    return dict(_unknown((record,), (), value))


def put_back(value: dict[str, Any], more: Mapping[Path, Any]) -> None:
    """Put unknown fields into a record again, where their place is still there."""
    for (*path, name), field in more.items():
        place: Any = value
        for step in path:
            place = place.get(step) if isinstance(place, dict) else None
        if isinstance(place, dict):
            place.setdefault(name, field)


def _unknown(kind: tuple[str, ...], path: Path, value: Mapping[str, Any]) -> list[tuple[Path, Any]]:
    known, found = KNOWN.get(kind), list[tuple[Path, Any]]()
    for name, inner in value.items():
        if known is not None and name not in known:
            found.append(((*path, name), inner))
        elif isinstance(inner, dict):
            found += _unknown((*kind, name if known is not None else EACH), (*path, name), inner)
    return found
