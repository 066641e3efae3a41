"""The totals of each source: how long its readers waited or were idle, and how often they were lost
or passed over.

If a reader waited or was idle since its last report, the commit of its next report adds that time:
from the old `heard_at`, or from `held_since` if that is later, to the new `heard_at`. So each
moment is counted once, by one coordinator. The sum over all coordinators lags the clock by at most
the time between two reports. The silence before a reader is lost is not counted, because the state
of the reader is unknown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from lockgate.group.reader import Reader
from lockgate.group.readers import Moved

MOST_SOURCES = 10_000
"""The maximum number of sources with totals of their own. `OTHER` sums up those of the others."""

OTHER = "(other)"
"""A label that is never the name of a group or source, since names have no brackets."""


@dataclass(slots=True)
class SourceTotals:
    """The totals of a source over all its readers, from the commits of this process."""

    paused_ms: int = 0
    idle_ms: int = 0
    lost: int = 0
    passed_over: int = 0


class Totals:
    """The totals by group and source, without those of deleted groups."""

    def __init__(self) -> None:
        self.by_source: dict[tuple[str, str], SourceTotals] = {}

    def add(self, group: str, readers: Sequence[Moved]) -> None:
        """Add the time for which each of `readers` has waited or been idle since its last report,
        and count those that were lost or passed over. Call it for the readers that a commit has
        changed.
        """
        for (source, _), old, new in readers:
            if old is None or new is None:
                continue
            reported = old.reported
            is_idle = reported is not None and reported.idle and reported.park_ms is None
            if old.held_since is None and not is_idle and not new.lost and not new.passed_over:
                continue
            _add(self._of(group, source), old, new, is_idle=is_idle)

    def forget(self, group: str) -> None:
        for key in [key for key in self.by_source if key[0] == group]:
            del self.by_source[key]

    def keep_only(self, groups: set[str]) -> None:
        """Drop the totals of all groups but `groups`, as other coordinators delete groups, too."""
        for key in [key for key in self.by_source if key[0] not in groups and key[0] != OTHER]:
            del self.by_source[key]

    def beside(self, sources: Iterable[tuple[str, str]]) -> dict[tuple[str, str], SourceTotals]:
        """Return all totals, and zero totals for `sources` without any, up to `MOST_SOURCES`."""
        room = MOST_SOURCES - len(self.by_source)
        without = (key for key in sources if key not in self.by_source)
        return self.by_source | {key: SourceTotals() for key in islice(without, max(0, room))}

    def _of(self, group: str, source: str) -> SourceTotals:
        found = self.by_source.get((group, source))
        if found is None:
            key = (group, source) if len(self.by_source) < MOST_SOURCES else (OTHER, OTHER)
            found = self.by_source.setdefault(key, SourceTotals())
        return found


def _add(totals: SourceTotals, old: Reader, new: Reader, *, is_idle: bool) -> None:
    if old.held_since is not None and not old.lost:
        totals.paused_ms += max(0, new.heard_at - max(old.heard_at, old.held_since))
    if is_idle and not old.lost:
        totals.idle_ms += max(0, new.heard_at - old.heard_at)
    totals.lost += new.lost and not old.lost
    totals.passed_over += new.passed_over and not old.passed_over
