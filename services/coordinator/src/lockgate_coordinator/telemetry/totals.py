"""What adds up for each source: how long its readers were held and idle, how often they were lost
or passed over.

How long. Each commit that changes a reader adds the time since the reader was last heard, if it was
held by the ceiling (idle) over that time: from the later of `heard_at` and `held_since` as they
were, to `heard_at` as it is. So each moment is counted once and by one replica, and the sum over
all replicas is right, later than the clock by no more than the readers' own reports are apart. The
silence at the end of which a reader is lost is not counted: nobody knows what it did.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from lockgate.group.readers import Moved, Reader

MOST_SOURCES = 10_000
"""Of how many sources the totals are kept apart. The others' are added up under OTHER, so that
names cost no more memory than this.
"""

OTHER = "(other)"
"""No name of a group or source: those have no brackets."""


@dataclass(slots=True)
class SourceTotals:
    """Of one source, since this process began, by its own commits. Times add up over the source's
    readers.
    """

    paused_ms: int = 0
    idle_ms: int = 0
    lost: int = 0
    passed_over: int = 0


class Totals:
    """`by_source`: the totals by group and source; deleted groups have none."""

    def __init__(self) -> None:
        self.by_source: dict[tuple[str, str], SourceTotals] = {}

    def add(self, group: str, readers: list[Moved]) -> None:
        """What these readers, moved by one commit, add."""
        for (source, _), old, new in readers:
            if old is None or new is None:
                continue
            reported = old.reported
            resting = reported is not None and reported.idle and reported.park_ms is None
            if old.held_since is None and not resting and not new.lost and not new.passed_over:
                continue
            _add(self._of(group, source), old, new, resting=resting)

    def forget(self, group: str) -> None:
        for key in [key for key in self.by_source if key[0] == group]:
            del self.by_source[key]

    def keep_only(self, groups: set[str]) -> None:
        """Other replicas delete groups as well."""
        for key in [key for key in self.by_source if key[0] not in groups and key[0] != OTHER]:
            del self.by_source[key]

    def beside(self, sources: Iterable[tuple[str, str]]) -> dict[tuple[str, str], SourceTotals]:
        """The totals, and nothing for those of these sources that have none yet: what begins with 1
        has risen for nobody who asks.
        """
        room = MOST_SOURCES - len(self.by_source)
        without = (key for key in sources if key not in self.by_source)
        return self.by_source | {key: SourceTotals() for key in islice(without, max(0, room))}

    def _of(self, group: str, source: str) -> SourceTotals:
        found = self.by_source.get((group, source))
        if found is None:
            key = (group, source) if len(self.by_source) < MOST_SOURCES else (OTHER, OTHER)
            found = self.by_source.setdefault(key, SourceTotals())
        return found


def _add(totals: SourceTotals, old: Reader, new: Reader, *, resting: bool) -> None:
    if old.held_since is not None and not old.lost:
        totals.paused_ms += max(0, new.heard_at - max(old.heard_at, old.held_since))
    if resting and not old.lost:
        totals.idle_ms += max(0, new.heard_at - old.heard_at)
    totals.lost += new.lost and not old.lost
    totals.passed_over += new.passed_over and not old.passed_over
