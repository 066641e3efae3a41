"""The journal: one log line for each change of state, written only by the replica whose commit made
it.

One commit writes at most `LINES_OF_ONE_COMMIT` lines, and one more that counts the remaining
changes. Without that limit 10,000 readers lost at once would write 10,000 lines, while reports
wait.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager

from lockgate.enumerator.model import Enumerator
from lockgate.group.group import Group
from lockgate.group.reader import ReaderKey
from lockgate.steps import AT_ONCE, Steps, at_once, parts
from lockgate_coordinator.store.base import Loaded, LoadedSplits
from lockgate_coordinator.telemetry.changes import Change, Kind, are_ordinary, changes, moved
from lockgate_coordinator.telemetry.kept_changes import KeptChanges
from lockgate_coordinator.telemetry.split_changes import split_changes
from lockgate_coordinator.telemetry.totals import Totals

LINES_OF_ONE_COMMIT = 100
"""About 2 ms of writing. One commit over Redis may hold the commands of many requests, and each of
their changes should have its line.
"""

LOGGER = "lockgate.changes"
WARNINGS = frozenset(
    {Kind.LOST, Kind.EVICTED, Kind.OVERDUE, Kind.PASSED_OVER, Kind.GROUP_DELETED, Kind.PARTITIONS_HISTORY_LOST}
)
"""The kinds that an operator may have to act on."""

ACTS = frozenset(
    {
        Kind.GROUP_CREATED,
        Kind.GROUP_CONFIGURED,
        Kind.SOURCE_PAUSED,
        Kind.SOURCE_RESUMED,
        Kind.EVICTED,
        Kind.FENCED,
    }
)
"""The kinds that may be an operator's act: the journal has the operator's name."""

_log = logging.getLogger(LOGGER)


class Journal:
    """Records each successful commit of this process. `counts` are the changes of each kind,
    `totals` the running totals of each source. `kept` takes what operators read back.
    """

    def __init__(self, totals: Totals, kept: KeptChanges) -> None:
        self.kept = kept
        self.counts: Counter[Kind] = Counter()
        self._totals = totals
        self._evicting: set[tuple[str, ReaderKey]] = set()
        self._expiring: set[tuple[str, ReaderKey]] = set()
        self._operators: dict[str, list[str | None]] = {}

    def committed(self, loaded: Loaded, group: Group) -> Steps[None]:
        """Record that `group` has replaced the loaded one, in steps of `AT_ONCE` readers."""
        before = loaded.group
        readers = moved(before, group)
        if are_ordinary(before, group, readers):
            return
        evicted, expired = _of(group.name, self._evicting), _of(group.name, self._expiring)
        for some in parts(readers):
            self._totals.add(group.name, some)
            yield
        yield from self._written(group.name, changes(before, group, readers, loaded.now_ms, evicted, expired))

    def splits_committed(self, loaded: LoadedSplits, sources: Mapping[str, Enumerator]) -> Steps[None]:
        """Record what the enumerators of the group's sources have changed."""
        for source, after in sources.items():
            before = loaded.sources.get(source)
            if before is not after:
                yield from self._written(loaded.name, split_changes(loaded.name, source, before, after))

    def deleted(self, name: str, readers: int, *, expired: bool = False) -> None:
        """Record that the group was deleted, with so many readers: by request, or since it had
        expired.
        """
        self._totals.forget(name)
        why = "none of its readers had lived for long" if expired else "it was deleted by request"
        kind = Kind.GROUP_EXPIRED if expired else Kind.GROUP_DELETED
        change = Change(kind, name, None, None, why, {"readers": readers})
        at_once(self._written(name, [change]))

    @contextmanager
    def acting(self, group: str, by: str | None) -> Iterator[None]:
        """Inside this context an operator acts on the group. `by`: the name of the operator's
        token. Of two who act at the same moment the journal has the later one's name.
        """
        acting = self._operators.setdefault(group, [])
        acting.append(by)
        try:
            yield
        finally:
            acting.remove(by)
            if not acting:
                self._operators.pop(group, None)

    @contextmanager
    def evicting(self, group: str, source: str, subtask: int) -> Iterator[None]:
        """Inside this context the removal of the reader counts as an eviction."""
        entry = (group, (source, subtask))
        self._evicting.add(entry)
        try:
            yield
        finally:
            self._evicting.discard(entry)

    @contextmanager
    def expiring(self, group: str, readers: Sequence[ReaderKey]) -> Iterator[None]:
        """Inside this context the removal of these readers counts as expiry."""
        entries = {(group, key) for key in readers}
        self._expiring |= entries
        try:
            yield
        finally:
            self._expiring -= entries

    def _written(self, group: str, found: Iterable[Change]) -> Steps[None]:
        written, beyond = 0, Counter[Kind]()
        for number, change in enumerate(found, 1):
            if number % AT_ONCE == 0:
                yield
            self.counts[change.kind] += 1
            if written < LINES_OF_ONE_COMMIT:
                written += 1
                _write_line(change)
                acting = self._operators.get(group) if change.kind in ACTS else None
                self.kept.keep(change, acting[-1] if acting else None)
            else:
                beyond[change.kind] += 1
        if beyond:
            counted = {kind.value: count for kind, count in sorted(beyond.items())}
            level = logging.WARNING if WARNINGS & beyond.keys() else logging.INFO
            reason = f"one commit changed more than {LINES_OF_ONE_COMMIT}"
            fields = {"event": "more_changes", "group": group, "reason": reason, "changes": counted}
            _log.log(level, "%d more changes", beyond.total(), extra={"fields": fields})


def _of(group: str, entries: Set[tuple[str, ReaderKey]]) -> frozenset[ReaderKey]:
    return frozenset(key for name, key in entries if name == group) if entries else frozenset()


def _write_line(change: Change) -> None:
    fields: dict[str, object] = {"event": change.kind.value, "group": change.group}
    if change.source is not None:
        fields |= {"source": change.source, "subtask": change.subtask}
    fields |= {"reason": change.reason, **change.details}
    level = logging.WARNING if change.kind in WARNINGS or _was_taken_over(change) else logging.INFO
    _log.log(level, "%s", change.kind.value.replace("_", " "), extra={"fields": fields})


def _was_taken_over(change: Change) -> bool:
    return change.kind is Kind.FENCED and change.details["owner"] != change.details["fenced_owner"]
