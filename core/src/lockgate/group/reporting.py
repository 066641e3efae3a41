"""Reports of readers, and the progress that their tasks report in the middle of a batch.

Each command returns the changed group, or raises a `Refused` and changes nothing.

* First reports. A reader does not count in the group watermark until it has reported, and a first
  report of MIN does not change that. Flink does the same: a source joins when its watermark first
  leaves MIN. A later report of MIN counts.
* Parking. A report may be the last one of a scheduled run (`leases`). The next run's first report
  ends the parking.
* Progress. Executors report in any order and more than once. For each split only the newest (batch,
  attempt) counts, and lower values from the same attempt are ignored. Progress may raise the
  reader's watermark, but only if the last report named the reader's splits, because a task sees
  only its own. It never lowers the watermark.

This follows Flink's `SourceCoordinator.handleReportedWatermark`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from lockgate.errors import Refused
from lockgate.group.group import Group
from lockgate.group.leases import is_lost, without_reach
from lockgate.group.limits import GroupLimits
from lockgate.group.long_waits import wait_after
from lockgate.group.now import Now
from lockgate.group.reader import Arriving, Attempt, Reader, ReaderKey
from lockgate.group.registering import current, with_heard
from lockgate.watermark import MIN
from lockgate.wire.events import ProgressEvent, ReportedWatermarkEvent, SplitProgress, SplitReport, SplitState

RESTING = (SplitState.IDLE, SplitState.FINISHED)
"""Splits in these states do not count in their reader's watermark."""

BEFORE_ANY_ATTEMPT: Attempt = (-1, -1)


def report_all(
    group: Group, reports: Iterable[tuple[str, ReportedWatermarkEvent]], now: Now, limits: GroupLimits
) -> tuple[Group, dict[int, Refused]]:
    """Return the group after `reports`, each paired with its source, and the refusals by index.

    A refused report does not affect the others. If all are refused, the group is the same object.
    """
    changes: dict[ReaderKey, Reader | None] = {}
    refusals: dict[int, Refused] = {}
    counting: set[str] = set()
    lowests = _Lowests()
    for index, (source, event) in enumerate(reports):
        key = (source, event.subtask)
        try:
            if event.splits:
                limits.check_splits(source, event.subtask, len(event.splits))
            reader = current(changes.get(key) or group.readers.get(key), group, key, event.epoch)
        except Refused as refusal:
            refusals[index] = refusal
            continue
        if event.reach is not None and group.paused_sources and group.pause_of(source) is not None:
            event = without_reach(event)
        changes[key] = reader = _reported(reader, event, group, now.ms, lowests)
        if reader.reported is not None:
            counting.add(source)
    if not changes:
        return group, refusals
    return with_heard(group, changes, now.ms, counting), refusals


def progress(group: Group, source: str, event: ProgressEvent, now: Now) -> Group:
    """Return the group after a task's report and lease renewal. Raises `current`'s errors."""
    key = (source, event.subtask)
    reader = current(group.readers.get(key), group, key, event.epoch)
    if reader.reported is not None and is_lost(reader, group.config, now):
        reader = reader._replace(reported=without_reach(reader.reported))
    merged = _merged(reader, event)._replace(heard_at=now.ms, excused=False, lost=False)
    if merged.reported is not None and _got_on(reader.reported, merged.reported):
        since, passed_over = wait_after(merged.reported, reader, group, now.ms)
        merged = merged._replace(
            progressed_at=now.ms,
            held_since=since,
            overdue=merged.overdue and since == reader.held_since,
            passed_over=passed_over,
        )
    return with_heard(group, {key: merged}, now.ms)


def renew(group: Group, source: str, subtask: int, epoch: int, now: Now) -> Group:
    """Return the group with the reader's lease renewed. Raises the same errors as `progress`."""
    key = (source, subtask)
    reader = current(group.readers.get(key), group, key, epoch)
    return with_heard(group, {key: reader._replace(heard_at=now.ms, excused=False, lost=False)}, now.ms)


def arrive(group: Group, source: str, arriving: Mapping[int, Arriving | None]) -> Group:
    """Return the group with `Reader.arriving` set for readers of a source.

    `arriving` maps subtasks to their arriving splits, or to None. Subtasks without a reader are
    ignored. If nothing changes, return the same object.
    """
    changes = dict[ReaderKey, Reader | None]()
    for subtask, split in arriving.items():
        reader = group.readers.get((source, subtask))
        if reader is not None and reader.arriving != split:
            changes[source, subtask] = reader._replace(arriving=split)
    return replace(group, readers=group.readers.updated(changes)) if changes else group


class _Lowests:
    """A cache of `_lowest` for a batch, in which 10,000 reports may name the same 10,000 splits."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Mapping[str, SplitReport], int]] = {}

    def of(self, splits: Mapping[str, SplitReport]) -> int:
        """Return `_lowest(splits)`. Keep `splits`, so that no other object gets its `id()`."""
        if id(splits) not in self._found:
            self._found[id(splits)] = (splits, _lowest(splits))
        return self._found[id(splits)][1]


def _reported(reader: Reader, event: ReportedWatermarkEvent, group: Group, now_ms: int, lowests: _Lowests) -> Reader:
    """Return the reader after a report. Takes O(1) if the report names no splits, as most do."""
    old = reader.reported
    if (old is None or old.epoch != event.epoch) and event.watermark == MIN and not event.idle and not event.finished:
        return reader._replace(heard_at=now_ms, excused=False, lost=False)
    if old is not None and old.epoch == event.epoch:
        if reader.splits_named and not event.splits:
            event = _repeated(event, old, reader, lowests)
        if event.facts is None and old.facts is not None:
            event = replace(event, facts=old.facts)
    if event.park_ms is not None:
        event = without_reach(event)
    since, passed_over = wait_after(event, reader, group, now_ms)
    return Reader(  # by position, which takes less than half of the time of `_replace`
        reader.epoch,
        now_ms,
        reader.owner,
        reader.attributes,
        event,
        False,  # excused
        False,  # lost
        now_ms if _got_on(old, event) else reader.progressed_at,
        since,
        reader.overdue and since == reader.held_since,
        passed_over,
        bool(event.splits),
        _attempts_of(event, old, reader) if reader.attempts else {},
        *reader[13:],  # what no report changes
    )


def _attempts_of(
    event: ReportedWatermarkEvent, old: ReportedWatermarkEvent | None, reader: Reader
) -> Mapping[str, Attempt]:
    """Return the reader's attempts at the splits that the report `event` names."""
    if old is not None and event.splits is old.splits:
        return reader.attempts
    return {name: attempt for name, attempt in reader.attempts.items() if name in event.splits}


def _repeated(
    event: ReportedWatermarkEvent, old: ReportedWatermarkEvent, reader: Reader, lowests: _Lowests
) -> ReportedWatermarkEvent:
    """Return `event` with the splits of the last report, `old`. If tasks have reported progress
    since, the watermark is raised to the lowest one of these splits.
    """
    least = lowests.of(old.splits) if reader.attempts else MIN
    return replace(event, splits=old.splits, watermark=max(event.watermark, least))


def _lowest(splits: Mapping[str, SplitReport]) -> int:
    return min((split.watermark for split in splits.values() if split.state not in RESTING), default=MIN)


def _got_on(old: ReportedWatermarkEvent | None, new: ReportedWatermarkEvent) -> bool:
    """Return whether `new` shows progress since `old`.

    A report alone shows none, because the reports of a reader that hangs are repeated.
    """
    if old is None or new.watermark > old.watermark:
        return True
    if (new.epoch, new.batch_id, new.idle, new.finished) != (old.epoch, old.batch_id, old.idle, old.finished):
        return True
    return new.splits is not old.splits and any(
        name not in old.splits or old.splits[name].position != split.position for name, split in new.splits.items()
    )


def _merged(reader: Reader, event: ProgressEvent) -> Reader:
    """Return the reader after a task's progress, or unchanged before the epoch's first report."""
    reported = reader.reported
    if reported is None or reported.epoch != event.epoch:
        return reader
    attempt = (event.batch_id, event.attempt)
    newest = {
        name: split for name, split in event.splits.items() if reader.attempts.get(name, BEFORE_ANY_ATTEMPT) <= attempt
    }
    splits = dict(reported.splits)
    for name, split in newest.items():
        splits[name] = _risen(splits.get(name), split, same_attempt=reader.attempts.get(name) == attempt)
    raised = max(reported.watermark, _lowest(splits)) if reader.splits_named else reported.watermark
    return reader._replace(
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
