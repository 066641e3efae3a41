"""The lines of a history, and the verdict on them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, NamedTuple

MIN, MAX = -(2**63), 2**63 - 1
"""The watermarks "none yet" and "will never block another reader"."""

Body = Mapping[str, Any]


def instant(ms: int) -> str:
    """Return an event time (ms) as text, such as "2026-11-25T14:08:04.000Z"."""
    if not 0 <= ms < 253_402_300_800_000:
        return {MIN: "none yet", MAX: "unlimited"}.get(ms, f"{ms} ms")
    return datetime.fromtimestamp(ms / 1000, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Entry(NamedTuple):
    """A line of a history: its file, its line number, and its decoded JSON object."""

    file: str
    line: int
    body: Body


@dataclass(frozen=True, slots=True)
class Violation:
    """A breach of `rule`, and the line that shows it. `who` is the group, source, reader, partition
    or file concerned.
    """

    rule: str
    group: str
    who: str
    text: str
    file: str
    line: int


@dataclass(slots=True)
class Verdict:
    """The result of a check.

    Attributes:
        violations: All violations.
        notices: Sentences on lost data and on gaps in the history.
        counts: The number of checked items of each kind.
    """

    violations: list[Violation] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def breach(self, rule: str, entry: Entry, who: str, text: str) -> None:
        """Add a violation of `rule` that `entry` shows."""
        self.violations.append(Violation(rule, entry.body["group"], who, text, entry.file, entry.line))


class Interval(NamedTuple):
    """A period from `since` to `until`, both in ms since 1970."""

    since: float
    until: float


Stalls = Mapping[str, Sequence[Interval]]
"""By file, the periods in which its process was suspended."""
