"""The commands of readers: register, report, report progress, leave.

The rule. A command makes a new group, or raises a `Refused` and changes nothing.

* Fencing. Each registration opens a new epoch of its reader. A command with any other epoch is
  stale. The last report of the older epoch counts until the newer epoch's first report, or until
  the lease ends. So no reader runs ahead because another one restarts.
* Ownership. A reader whose lease still runs stays with its owner (`ReaderBusy`): a second query
  under the same names is more often a mistake than a successor. The same owner replaces its own
  reader at once, and `takeover` replaces any.
* Beginning. A reader that has never reported does not count, and a first report of MIN changes
  nothing. Flink does the same: a source joins when its watermark first leaves MIN. A later MIN
  counts.
* Parking. A report may be the last one of a scheduled run (`leases`). The next run registers, which
  leaves the rest of the parking as it is, or one lease where that is longer. Its first report ends
  the parking.
* Progress. Executors report in the middle of a batch, in any order and more than once. For each
  split only the newest (batch, attempt) counts, and within it values only rise. Progress may raise
  the reader's watermark, never lower it, and only where the last report named the splits: one task
  does not know the splits of the others.

Flink's `SourceCoordinator` fences by the attempt of a subtask, and has one job. Owners and takeover
replace the knowledge of its job manager. Used by the coordinator service.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from lockgate.errors import ReaderBusy, Refused, StaleEpoch, UnknownReader, UnknownSource
from lockgate.group.group import Group, restored, tick
from lockgate.group.hearing import ALWAYS, Hearing
from lockgate.group.leases import after_silence, has_finished, in_grace, is_lost, lease_ends, without_reach
from lockgate.group.long_waits import wait_after
from lockgate.group.reader import Arriving, Attempt, Reader, ReaderKey
from lockgate.watermark import MIN
from lockgate.wire.events import (
    OnLostReader,
    ProgressEvent,
    ReaderFacts,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    SplitProgress,
    SplitReport,
    SplitState,
)

RESTING = (SplitState.IDLE, SplitState.FINISHED)
"""Splits in these states hold no reader back."""

BEFORE_ALL: Attempt = (-1, -1)

FEW = 8
"""So many sources at most are looked for in a tuple one by one. For more a set is cheaper."""


def register(
    group: Group, source: str, event: ReaderRegistrationEvent, now_ms: int, hearing: Hearing = ALWAYS
) -> Group:
    """Open a new epoch of the reader, which the new group's `readers` has. Raises `ReaderBusy`."""
    group = restored(after_silence(group, now_ms), event.config, event.configured_at, now_ms)
    key = (source, event.subtask)
    old = group.readers.get(key)
    if old is not None and old.owner != event.owner and not event.takeover and _lives(old, group, now_ms, hearing):
        raise ReaderBusy(source, event.subtask, old.owner)
    inherited = None if old is None else _inherited(old, group, now_ms, hearing)
    reader = Reader(
        epoch=tick(group.left_epoch if old is None else old.epoch, now_ms),
        heard_at=now_ms,
        owner=event.owner,
        attributes=dict(event.attributes),
        reported=inherited,
        progressed_at=None if old is None else old.progressed_at,
        passed_over=old is not None and old.passed_over,
        arriving=None if old is None or (inherited is None and old.reported is not None) else old.arriving,
    )
    cap = group.cap
    if event.ceiling is not None and in_grace(group, now_ms, hearing):
        cap = event.ceiling if cap is None else min(cap, event.ceiling)
    return replace(_with_heard(group, {key: reader}, now_ms), cap=cap)


def report(group: Group, source: str, event: ReportedWatermarkEvent, now_ms: int) -> Group:
    """Take a reader's report, and renew its lease. Raises `UnknownSource`, `UnknownReader`,
    `StaleEpoch`.
    """
    group, refusals = report_all(group, [(source, event)], now_ms)
    for refusal in refusals.values():
        raise refusal
    return group


def report_all(
    group: Group, reports: Iterable[tuple[str, ReportedWatermarkEvent]], now_ms: int
) -> tuple[Group, dict[int, Refused]]:
    """Take many reports, each judged alone. Returns the refusals by index; where all are refused,
    the group is unchanged.
    """
    after = after_silence(group, now_ms)
    changes, counting, refusals = dict[ReaderKey, Reader | None](), set[str](), dict[int, Refused]()
    lowests = _Lowests()
    for index, (source, event) in enumerate(reports):
        key = (source, event.subtask)
        try:
            reader = _current(changes.get(key) or after.readers.get(key), group, key, event.epoch)
        except Refused as refusal:
            refusals[index] = refusal
            continue
        if event.reach is not None and after.paused_sources and after.pause_of(source) is not None:
            event = without_reach(event)
        changes[key] = reader = _reported(reader, event, after, now_ms, lowests)
        if reader.reported is not None:
            counting.add(source)
    if not changes:
        return group, refusals
    return _with_heard(after, changes, now_ms, counting), refusals


def progress(group: Group, source: str, event: ProgressEvent, now_ms: int, hearing: Hearing = ALWAYS) -> Group:
    """Take a task's report about its splits, and renew the lease. Raises `UnknownSource`,
    `UnknownReader`, `StaleEpoch`.
    """
    key = (source, event.subtask)
    _current(group.readers.get(key), group, key, event.epoch)
    group = after_silence(group, now_ms)
    reader = group.readers[key]
    if reader.reported is not None and is_lost(reader, group.config, now_ms, hearing):
        reader = replace(reader, reported=without_reach(reader.reported))
    merged = replace(_merged(reader, event), heard_at=now_ms, excused=False, lost=False)
    if merged.reported is not None and _got_on(reader.reported, merged.reported):
        since, passed_over = wait_after(merged.reported, reader, group, now_ms)
        merged = replace(
            merged,
            progressed_at=now_ms,
            held_since=since,
            overdue=merged.overdue and since == reader.held_since,
            passed_over=passed_over,
        )
    return _with_heard(group, {key: merged}, now_ms)


def renew(group: Group, source: str, subtask: int, epoch: int, now_ms: int) -> Group:
    """Renew the lease, as a report does, and change nothing else. Raises as `report`."""
    check_epoch(group, source, subtask, epoch)
    key = (source, subtask)
    group = after_silence(group, now_ms)
    return _with_heard(group, {key: replace(group.readers[key], heard_at=now_ms, excused=False, lost=False)}, now_ms)


def arrive(group: Group, source: str, arriving: Mapping[int, Arriving | None]) -> Group:
    """Return the group that knows which splits are on their way to readers of a source, by subtask.
    Those that are not in the group are left out; the same object where nothing changes.
    """
    changes = dict[ReaderKey, Reader | None]()
    for subtask, split in arriving.items():
        reader = group.readers.get((source, subtask))
        if reader is not None and reader.arriving != split:
            changes[source, subtask] = replace(reader, arriving=split)
    return replace(group, readers=group.readers.updated(changes)) if changes else group


def check_epoch(group: Group, source: str, subtask: int, epoch: int) -> None:
    """Raise `UnknownSource`, `UnknownReader` or `StaleEpoch` for a reader that may not speak."""
    _current(group.readers.get((source, subtask)), group, (source, subtask), epoch)


def leave(group: Group, source: str, subtask: int, epoch: int, now_ms: int) -> Group:
    """Take the reader out of the group at once. Raises `UnknownSource`, `UnknownReader`,
    `StaleEpoch`.
    """
    key = (source, subtask)
    _current(group.readers.get(key), group, key, epoch)
    return _with_heard(_without(after_silence(group, now_ms), key), {}, now_ms)


def evict(group: Group, source: str, subtask: int) -> Group:
    """As `leave`, by an operator, so without an epoch. Raises `UnknownSource`,
    `UnknownReader`.
    """
    key = (source, subtask)
    if key not in group.readers:
        raise _unknown(group, key)
    return _without(group, key)


def _current(reader: Reader | None, group: Group, key: ReaderKey, epoch: int) -> Reader:
    if reader is None:
        raise _unknown(group, key)
    if reader.epoch != epoch:
        raise StaleEpoch(*key, epoch, reader.epoch)
    return reader


def _unknown(group: Group, key: ReaderKey) -> Refused:
    source, subtask = key
    if group.readers.has_source(source):
        return UnknownReader(group.name, source, subtask)
    return UnknownSource(group.name, source)


def _lives(reader: Reader, group: Group, now_ms: int, hearing: Hearing) -> bool:
    return not is_lost(reader, group.config, now_ms, hearing) and not has_finished(reader)


def _inherited(old: Reader, group: Group, now_ms: int, hearing: Hearing) -> ReportedWatermarkEvent | None:
    """Return the report that goes on counting when a newer epoch opens. A registration alone does
    not make a lost reader count again.
    """
    reported = old.reported
    if reported is None:
        return None
    if is_lost(old, group.config, now_ms, hearing):
        return replace(reported, reach=None, park_ms=None) if group.config.on_lost_reader is OnLostReader.HOLD else None
    if reported.park_ms is None:
        return reported
    return replace(reported, park_ms=max(lease_ends(old, group.config) - now_ms, group.config.lease_ms))


class _Lowests:
    """The lowest split of each reader that a batch names, found once: a batch may repeat one
    reader's 10,000 splits 10,000 times.
    """

    def __init__(self) -> None:
        self._found: dict[int, tuple[Mapping[str, SplitReport], int]] = {}

    def of(self, splits: Mapping[str, SplitReport]) -> int:
        """As `_lowest`. The splits are kept, so that no others get their id."""
        if id(splits) not in self._found:
            self._found[id(splits)] = (splits, _lowest(splits))
        return self._found[id(splits)][1]


def _reported(reader: Reader, event: ReportedWatermarkEvent, group: Group, now_ms: int, lowests: _Lowests) -> Reader:
    """Return the reader after a report. This is the most frequent command, so the constructor is
    called once: `replace` takes four times as long. A report that names no splits is O(1) in those
    that the reader has.
    """
    old = reader.reported
    if (old is None or old.epoch != event.epoch) and event.watermark == MIN and not event.idle and not event.finished:
        return replace(reader, heard_at=now_ms, excused=False, lost=False)
    if old is not None and old.epoch == event.epoch:
        if reader.splits_named and not event.splits:
            event = _repeated(event, old, reader, lowests)
        if event.facts is None and old.facts is not None:
            event = _with_facts(event, old.facts)
    if event.park_ms is not None:
        event = without_reach(event)
    since, passed_over = wait_after(event, reader, group, now_ms)
    return Reader(
        epoch=reader.epoch,
        heard_at=now_ms,
        owner=reader.owner,
        attributes=reader.attributes,
        reported=event,
        progressed_at=now_ms if _got_on(old, event) else reader.progressed_at,
        held_since=since,
        overdue=reader.overdue and since == reader.held_since,
        passed_over=passed_over,
        splits_named=bool(event.splits),
        attempts=_attempts_of(event, old, reader) if reader.attempts else {},
        progress_ignored=reader.progress_ignored,
        arriving=reader.arriving,
    )


def _attempts_of(
    event: ReportedWatermarkEvent, old: ReportedWatermarkEvent | None, reader: Reader
) -> Mapping[str, Attempt]:
    """Return the attempts of the splits that the report names. Only splits of the last report have
    any.
    """
    if old is not None and event.splits is old.splits:
        return reader.attempts
    return {name: attempt for name, attempt in reader.attempts.items() if name in event.splits}


def _repeated(
    event: ReportedWatermarkEvent, old: ReportedWatermarkEvent, reader: Reader, lowests: _Lowests
) -> ReportedWatermarkEvent:
    """Return a report that names no splits repeats the last ones, and undoes no progress that tasks
    have reported since.
    """
    least = lowests.of(old.splits) if reader.attempts else MIN
    return replace(event, splits=old.splits, watermark=max(event.watermark, least))


def _with_facts(event: ReportedWatermarkEvent, facts: ReaderFacts) -> ReportedWatermarkEvent:
    """Keep the last facts for a report without any. `replace` takes four times as
    long.
    """
    return ReportedWatermarkEvent(
        subtask=event.subtask,
        epoch=event.epoch,
        watermark=event.watermark,
        idle=event.idle,
        finished=event.finished,
        reach=event.reach,
        batch_id=event.batch_id,
        park_ms=event.park_ms,
        facts=facts,
        splits=event.splits,
    )


def _lowest(splits: Mapping[str, SplitReport]) -> int:
    return min((split.watermark for split in splits.values() if split.state not in RESTING), default=MIN)


def _got_on(old: ReportedWatermarkEvent | None, new: ReportedWatermarkEvent) -> bool:
    """Return whether a report shows progress. A reader that hangs still reports: a thread of its
    own keeps the lease.
    """
    if old is None or new.watermark > old.watermark:
        return True
    if (new.epoch, new.batch_id, new.idle, new.finished) != (old.epoch, old.batch_id, old.idle, old.finished):
        return True
    return new.splits is not old.splits and any(
        name not in old.splits or old.splits[name].position != split.position for name, split in new.splits.items()
    )


def _merged(reader: Reader, event: ProgressEvent) -> Reader:
    """Return the reader after a task's progress. Before the epoch's first report there is nothing
    to merge it into.
    """
    reported = reader.reported
    if reported is None or reported.epoch != event.epoch:
        return reader
    attempt = (event.batch_id, event.attempt)
    newest = {name: split for name, split in event.splits.items() if reader.attempts.get(name, BEFORE_ALL) <= attempt}
    splits = dict(reported.splits)
    for name, split in newest.items():
        splits[name] = _risen(splits.get(name), split, same_attempt=reader.attempts.get(name) == attempt)
    raised = max(reported.watermark, _lowest(splits)) if reader.splits_named else reported.watermark
    return replace(
        reader,
        reported=replace(reported, splits=splits, watermark=raised),
        attempts={**reader.attempts, **dict.fromkeys(newest, attempt)},
        progress_ignored=reader.progress_ignored + len(event.splits) - len(newest),
    )


def _risen(old: SplitReport | None, new: SplitProgress, *, same_attempt: bool) -> SplitReport:
    if old is None:
        return SplitReport(watermark=new.watermark, position=new.position, rows=new.rows)
    # `replace` takes four times as long, and a report may name thousands of splits.
    if not same_attempt:
        return SplitReport(watermark=new.watermark, state=old.state, position=new.position, end=old.end, rows=new.rows)
    return SplitReport(
        watermark=max(old.watermark, new.watermark),
        state=old.state,
        position=max(old.position or 0, new.position),
        end=old.end,
        rows=max(old.rows or 0, new.rows),
    )


def _without(group: Group, key: ReaderKey) -> Group:
    left = group.readers[key]
    return replace(group, readers=group.readers.updated({key: None}), left_epoch=max(group.left_epoch, left.epoch))


def _with_heard(
    group: Group, changes: Mapping[ReaderKey, Reader | None], now_ms: int, counting: AbstractSet[str] = frozenset()
) -> Group:
    """Return the group with these readers, which were heard now. `counting`: the sources that have
    reported.
    """
    return replace(
        group,
        readers=group.readers.updated(changes),
        heard_at=now_ms if group.heard_at is None else max(group.heard_at, now_ms),
        started=group.started or bool(counting),
        sources_seen=_with_seen(group, counting) if counting else group.sources_seen,
    )


def _with_seen(group: Group, counting: AbstractSet[str]) -> frozenset[str]:
    """Return the expected sources that have reported, with these. O(1) where all had, as mostly."""
    expected, seen = group.config.expected_sources, group.sources_seen
    if len(seen) >= len(expected):
        return seen
    unseen = counting - seen
    new = unseen & set(expected) if len(unseen) > FEW else {source for source in unseen if source in expected}
    return seen | new if new else seen
