"""A group in figures, as a scrape finds it. Filled by `service.figures`, told by `metrics`."""

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
    """Readers and splits are counted by their state; `watermark` and `ceiling` are in ms, MIN and
    MAX among them.

    `named_splits` have their group's `watermark` to be compared with: source, subtask, split, and
    what was said of it.
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
class Found:
    """What a scrape found. `more`: there are groups beyond those; `answered`: the store did for all
    of them.

    `turns` were taken so far for so many `commands`.
    """

    groups: list[GroupFigures] = field(default_factory=list)
    more: bool = False
    answered: bool = True
    turns: int = 0
    commands: int = 0
