"""The figures of groups in one scrape. `service.group_scrape` fills them in, `group_metrics` writes
them.
"""

from collections import Counter
from dataclasses import dataclass, field

from lockgate.wire.events import SplitReport


@dataclass(slots=True)
class SourceFigures:
    """`foremost`: the highest watermark of its active readers, in ms; None if none has one."""

    foremost: int | None = None
    waiting: int = 0
    overdue: int = 0


@dataclass(slots=True)
class GroupFigures:
    """Readers and splits are counted by their state. `watermark` and `ceiling` are in ms, and may
    be MIN or MAX. `named_splits` are source, subtask, split, and the split's last report.
    """

    name: str
    revision: int
    watermark: int
    ceiling: int
    missing_sources: int
    readers: Counter[str] = field(default_factory=Counter)
    splits: Counter[str] = field(default_factory=Counter)
    sources: dict[str, SourceFigures] = field(default_factory=dict)
    named_splits: list[tuple[str, int, str, SplitReport]] = field(default_factory=list)


@dataclass(slots=True)
class Scrape:
    """The groups of one scrape. `unreadable`: the names of those that cannot be read.
    `more_groups`: there are others beyond the limit. `complete`: the
    store answered for all of them. So far this process made `commits` of `commands`.
    """

    groups: list[GroupFigures] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    more_groups: bool = False
    complete: bool = True
    commits: int = 0
    commands: int = 0
