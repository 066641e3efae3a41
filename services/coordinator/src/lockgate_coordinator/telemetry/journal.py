"""The journal, which writes a log line for each change of state. Only the coordinator that has
committed the change writes its line.

A commit writes at most `LINES_OF_ONE_COMMIT` lines, and one more line that counts the other
changes. Otherwise, the loss of 10,000 readers at once would cause 10,000 lines, while reports wait.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from lockgate.enumerator.model import Enumerator
from lockgate.group.commands import Command, Configure, Evict, Expire, Pause, Register, Resume
from lockgate.group.readers import Moved
from lockgate.group.turn import Turn
from lockgate.steps import ITEMS_OF_A_STEP, Steps, at_once, parts
from lockgate_coordinator.listeners import TurnListener
from lockgate_coordinator.telemetry.changes import Change, Kind, are_ordinary, changes, moved
from lockgate_coordinator.telemetry.kept_changes import KeptChanges
from lockgate_coordinator.telemetry.split_changes import split_changes
from lockgate_coordinator.telemetry.totals import Totals

LINES_OF_ONE_COMMIT = 100
"""The maximum number of changes of a commit with lines of their own, which take about 2 ms. A
commit over Redis may have the commands of many requests, and each of their changes should have a
line.
"""

LOGGER = "lockgate.changes"
WARNINGS = frozenset(
    {Kind.LOST, Kind.EVICTED, Kind.OVERDUE, Kind.PASSED_OVER, Kind.GROUP_DELETED, Kind.PARTITIONS_HISTORY_LOST}
)
"""The kinds of changes that are warnings, because an operator may have to act."""

ACTS: Mapping[Kind, type[Command]] = {
    Kind.GROUP_CREATED: Configure,
    Kind.GROUP_CONFIGURED: Configure,
    Kind.SOURCE_PAUSED: Pause,
    Kind.SOURCE_RESUMED: Resume,
    Kind.EVICTED: Evict,
    Kind.FENCED: Register,
}
"""The kinds of changes that operators cause, with the command that has the operator's name."""

GONE: Mapping[type[Command], Kind] = {Evict: Kind.EVICTED, Expire: Kind.EXPIRED}
"""The commands that remove readers, with the kind of that change."""

_log = logging.getLogger(LOGGER)


class Journal(TurnListener):
    """A listener that records the changes of each stored turn of this process.

    It writes them to the log and to `kept`, which operators can read. It counts them in `counts` by
    kind, and updates the `totals` of the sources.
    """

    def __init__(self, totals: Totals, kept: KeptChanges) -> None:
        self.counts: Counter[Kind] = Counter()
        self.kept = kept
        self._totals = totals

    def turned(self, turn: Turn) -> Steps[None] | None:
        """Return the steps that record the turn's changes, or None if nothing is to be recorded."""
        if turn.after is turn.before:
            return None
        readers = moved(turn.before, turn.group)
        return None if are_ordinary(turn.before, turn.group, readers) else self._recorded(turn, readers)

    def splits_changed(self, group: str, source: str, before: Enumerator | None, after: Enumerator) -> Steps[None]:
        """Record which splits of the source were listed, assigned, freed or finished."""
        return self._written(group, split_changes(group, source, before, after))

    def deleted(self, group: str, readers: int, *, expired: bool) -> None:
        """Record that the group was deleted, or that it has `expired`, and drop its totals."""
        self._totals.forget(group)
        why = "none of its readers had lived for long" if expired else "it was deleted by request"
        kind = Kind.GROUP_EXPIRED if expired else Kind.GROUP_DELETED
        at_once(self._written(group, [Change(kind, group, None, None, why, {"readers": readers})]))

    async def close(self) -> None:
        await self.kept.close()

    def _recorded(self, turn: Turn, readers: list[Moved]) -> Steps[None]:
        for some in parts(readers):
            self._totals.add(turn.name, some)
            yield
        gone = {key: kind for command, kind in GONE.items() for key in turn.removed_by(command)}
        found = changes(turn.before, turn.group, readers, turn.now.ms, gone)
        yield from self._written(turn.name, found, turn.commands)

    def _written(self, group: str, found: Iterable[Change], commands: Sequence[Command] = ()) -> Steps[None]:
        written, beyond = 0, Counter[Kind]()
        for number, change in enumerate(found, 1):
            if number % ITEMS_OF_A_STEP == 0:
                yield
            self.counts[change.kind] += 1
            if written < LINES_OF_ONE_COMMIT:
                written += 1
                _write_line(change)
                self.kept.keep(change, _operator(change, commands))
            else:
                beyond[change.kind] += 1
        if beyond:
            counted = {kind.value: count for kind, count in sorted(beyond.items())}
            level = logging.WARNING if WARNINGS & beyond.keys() else logging.INFO
            reason = f"one update caused more than {LINES_OF_ONE_COMMIT} events"
            fields = {"event": "more_changes", "group": group, "reason": reason, "changes": counted}
            _log.log(level, "%d more changes", beyond.total(), extra={"fields": fields})


def _operator(change: Change, commands: Sequence[Command]) -> str | None:
    """Return the name of the operator whose command has caused the change, if there is one."""
    if change.kind not in ACTS:
        return None
    for command in reversed(commands):
        if isinstance(command, ACTS[change.kind]) and getattr(command, "source", None) == change.source:
            by: str | None = getattr(command, "by", None)
            return by
    return None


def _write_line(change: Change) -> None:
    fields: dict[str, object] = {"event": change.kind.value, "group": change.group}
    if change.source is not None:
        fields |= {"source": change.source, "subtask": change.subtask}
    fields |= {"reason": change.reason, **change.details}
    taken_over = change.kind is Kind.FENCED and change.details["owner"] != change.details["fenced_owner"]
    level = logging.WARNING if change.kind in WARNINGS or taken_over else logging.INFO
    _log.log(level, "%s", change.kind.value.replace("_", " "), extra={"fields": fields})
