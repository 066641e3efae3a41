"""The changes of state of a group and its readers, found by comparing it before and after a turn.

All functions are pure, and their cost depends only on the readers that changed. Each change gets a
log line, for example when a reader comes, stops, is lost or no longer waits, or when a group is
created, configured or deleted. Watermarks are not state, because they move with every report. For
the same reason, it is not a change of state if another reader becomes the slowest.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from lockgate.group.group import Group
from lockgate.group.leases import has_finished, is_parked
from lockgate.group.reader import Reader, ReaderKey
from lockgate.group.readers import Moved, Readers
from lockgate.wire.codec import to_json
from lockgate.wire.events import OnLostReader, OnMaxWait, ReportedWatermarkEvent

HOLD_MS = 10_000
"""The shortest wait of a reader that counts as a change of state."""

HOLDERS_NAMED = 8


class Kind(str, Enum):
    """The kinds of changes of a group, its readers and its partitions."""

    GROUP_CREATED = "group_created"
    GROUP_CONFIGURED = "group_configured"
    GROUP_DELETED = "group_deleted"
    GROUP_EXPIRED = "group_expired"
    COMMON_START = "common_start"
    SOURCE_PAUSED = "source_paused"
    SOURCE_RESUMED = "source_resumed"
    REGISTERED = "reader_registered"
    FENCED = "reader_fenced"
    STARTED = "reader_started"
    IDLE = "reader_idle"
    ACTIVE = "reader_active"
    FINISHED = "reader_finished"
    PARKED = "reader_parked"
    LOST = "reader_lost"
    RETURNED = "reader_returned"
    LEFT = "reader_left"
    EVICTED = "reader_evicted"
    EXPIRED = "reader_expired"
    OVERDUE = "reader_overdue"
    PASSED_OVER = "reader_passed_over"
    COUNTED = "reader_counted_again"
    WAIT_BEGAN = "wait_began"
    WAIT_ENDED = "wait_ended"
    PARTITIONS_LISTED = "partitions_listed"
    PARTITIONS_ASSIGNED = "partitions_assigned"
    PARTITIONS_FREED = "partitions_freed"
    PARTITIONS_FINISHED = "partitions_finished"
    PARTITIONS_HISTORY_LOST = "partitions_history_lost"


@dataclass(frozen=True, slots=True)
class Change:
    """A change of state. `subtask` is None if it concerns a whole source, and `source` is None too
    if it concerns the whole group. `details` contains figures and free text, such as owners.
    """

    kind: Kind
    group: str
    source: str | None
    subtask: int | None
    reason: str
    details: Mapping[str, object] = field(default_factory=dict)


def moved(before: Group | None, after: Group) -> list[Moved]:
    """Return the readers that differ between `before` and `after`, each with its key and both
    values.

    If `before` is None, these are all readers of `after`. If `after` was made from `before`, this
    takes time in proportion to the number of changed readers.
    """
    return after.readers.moved_since(Readers() if before is None else before.readers)


def are_ordinary(before: Group | None, after: Group, readers: list[Moved]) -> bool:
    """Return whether the group's readers have only reported watermarks, so that nothing is
    recorded.

    Return False if a reader was waiting, lost or passed over before its report, or is idle now,
    because `Totals` may then change. `readers` is the result of `moved`.
    """
    if before is None or before.config is not after.config or before.sources_seen is not after.sources_seen:
        return False
    if before.paused_sources is not after.paused_sources:
        return False
    return all(old is not None and new is not None and _is_quiet(old, new) for _, old, new in readers)


def _is_quiet(old: Reader, new: Reader) -> bool:
    is_idle = new.reported is not None and new.reported.idle
    return _is_ordinary(old, new) and old.held_since is None and not (old.lost or old.passed_over or is_idle)


def changes(
    before: Group | None,
    after: Group,
    readers: list[Moved],
    now_ms: int,
    gone: Mapping[ReaderKey, Kind] = MappingProxyType({}),
) -> Iterator[Change]:
    """Yield the changes from `before`, which is None for a new group, to `after`.

    Args:
        before: The group before the turn, or None.
        after: The group after the turn.
        readers: The result of `moved`.
        now_ms: The store's time of the commit.
        gone: The kind of change of each removed reader that has not left by itself.
    """
    if before is None or before.config != after.config or before.sources_seen != after.sources_seen:
        yield from _of_group(before, after)
    if before is not None and before.paused_sources != after.paused_sources:
        yield from _of_pauses(before, after)
    for key, old, new in readers:
        if new is not None:
            entries = _of_reader(before, after, old, new, now_ms)
        else:
            entries = iter(() if old is None else (_gone(gone.get(key, Kind.LEFT), old, now_ms),))
        for kind, reason, details in entries:
            yield Change(kind, after.name, *key, reason, details)


def _is_ordinary(old: Reader, new: Reader) -> bool:
    """Return whether only a watermark was reported. The wait may begin, continue or end."""
    was, now = old.reported, new.reported
    return (
        was is not None
        and now is not None
        and old.epoch == new.epoch
        and was.epoch == now.epoch
        and was.idle == now.idle
        and was.finished == now.finished
        and (was.park_ms is None) == (now.park_ms is None)
        and old.lost == new.lost
        and old.overdue == new.overdue
        and old.passed_over == new.passed_over
        and (old.held_since is None or old.held_since == new.held_since or new.held_since is None)
    )


_Entry = tuple[Kind, str, Mapping[str, object]]


def _of_group(before: Group | None, after: Group) -> Iterator[Change]:
    if before is None:
        reason = "a reader registered" if len(after.readers) else "it was configured"
        yield Change(Kind.GROUP_CREATED, after.name, None, None, reason, to_json(after.config))
        return
    if before.config != after.config:
        old, new = to_json(before.config), to_json(after.config)
        differs = {key: {"from": old[key], "to": new[key]} for key in new if old[key] != new[key]}
        reason = "its configuration was replaced"
        yield Change(Kind.GROUP_CONFIGURED, after.name, None, None, reason, {"changed": differs})
    if before.sources_missing and not after.sources_missing:
        still_expected = before.config.expected_sources == after.config.expected_sources
        all_came = "all expected sources have reported or are no longer needed"
        reason = all_came if still_expected else "no further source is expected now"
        details = {"expected_sources": list(after.config.expected_sources)}
        yield Change(Kind.COMMON_START, after.name, None, None, reason, details)


def _of_pauses(before: Group, after: Group) -> Iterator[Change]:
    name = after.name
    for pause in after.paused_sources:
        if before.pause_of(pause.source) != pause:
            details = {"by": pause.by, "why": pause.reason}
            yield Change(Kind.SOURCE_PAUSED, name, pause.source, None, "an operator paused it", details)
    for pause in before.paused_sources:
        if after.pause_of(pause.source) is None:
            details = {"paused_by": pause.by, "why": pause.reason}
            yield Change(Kind.SOURCE_RESUMED, name, pause.source, None, "an operator resumed it", details)


def _of_reader(before: Group | None, after: Group, old: Reader | None, new: Reader, now_ms: int) -> Iterator[_Entry]:
    if old is not None and old.held_since is not None:
        yield from _of_holds(before, after, old, new, old.held_since)
    if old is not None and _is_ordinary(old, new):
        return
    same = old is not None and old.epoch == new.epoch
    if old is None:
        yield Kind.REGISTERED, "it is new in the group", {"epoch": new.epoch, "owner": new.owner}
    elif not same:
        yield _fenced(old, new)
    yield from _of_reports(_own(old) if same else None, _own(new))
    if old is not None and same and old.lost and not new.lost:
        yield Kind.RETURNED, _why_back(before, after, old, new, now_ms), {"silent_ms": new.heard_at - old.heard_at}
    if new.lost and not (old is not None and same and old.lost):
        parked = "it was parked, and its next run did not start in time"
        reason = parked if is_parked(new) else "its lease has expired"
        policy = after.config.on_lost_reader.value
        yield Kind.LOST, reason, {"silent_ms": now_ms - new.heard_at, "on_lost_reader": policy}
    yield from _of_waits(before, after, old, new, now_ms)


def _gone(kind: Kind, old: Reader, now_ms: int) -> _Entry:
    details = {"epoch": old.epoch, "owner": old.owner}
    if kind is not Kind.EXPIRED:
        return kind, "an operator evicted it" if kind is Kind.EVICTED else "it left the group", details
    reason = "it finished long ago" if has_finished(old) else "it has been lost for too long"
    return kind, reason, {**details, "silent_ms": now_ms - old.heard_at}


def _fenced(old: Reader, new: Reader) -> _Entry:
    reason = "its owner registered again" if old.owner == new.owner else "another owner registered in its place"
    details = {"fenced_epoch": old.epoch, "fenced_owner": old.owner, "was_lost": old.lost}
    return Kind.FENCED, reason, {"epoch": new.epoch, "owner": new.owner, **details}


def _own(reader: Reader | None) -> ReportedWatermarkEvent | None:
    """Return the reader's last report in its current epoch, or None if there is none."""
    if reader is None or reader.reported is None or reader.reported.epoch != reader.epoch:
        return None
    return reader.reported


def _of_reports(old: ReportedWatermarkEvent | None, new: ReportedWatermarkEvent | None) -> Iterator[_Entry]:
    if new is None:
        return
    if old is None:
        yield Kind.STARTED, "its first report that counts", {"epoch": new.epoch, "watermark": new.watermark}
    kind = _phase(new)
    if kind is (Kind.ACTIVE if old is None else _phase(old)):
        return
    if kind is Kind.FINISHED:
        yield kind, "it reported that it has finished", {}
    elif kind is Kind.PARKED:
        details = {"park_ms": new.park_ms, "watermark": new.watermark}
        yield kind, "its run has ended; it counts until its next run", details
    elif kind is Kind.IDLE:
        yield kind, "it reported that it is idle", {}
    else:
        yield kind, "it reported a watermark again", {"watermark": new.watermark}


def _phase(report: ReportedWatermarkEvent) -> Kind:
    if report.finished:
        return Kind.FINISHED
    return Kind.PARKED if report.park_ms is not None else Kind.IDLE if report.idle else Kind.ACTIVE


def _why_back(before: Group | None, after: Group, old: Reader, new: Reader, now_ms: int) -> str:
    if new.excused and not old.excused:
        return "all readers had been silent, so the outage was added to its lease"
    if before is not None and before.config != after.config and old.heard_at == new.heard_at:
        return "the new configuration has a longer lease"
    if new.heard_at <= old.heard_at:
        return "the clock was ahead when its lease seemed to have expired"
    if new.heard_at < now_ms:
        return "the store's clock had jumped when its lease seemed to have expired"
    return "it reported again"


def _of_waits(before: Group | None, after: Group, old: Reader | None, new: Reader, now_ms: int) -> Iterator[_Entry]:
    """Yield an entry if the reader becomes overdue, is passed over, or counts for the group again.

    With `on_max_wait: proceed`, a reader that has waited too long reads on, and its wait starts
    over. It is never marked as overdue, but the entry is yielded nevertheless.
    """
    limit = {"max_wait_ms": after.config.max_wait_ms}
    since = new.held_since if old is None or old.held_since is None else old.held_since
    waited = {} if since is None else {"waited_ms": now_ms - since}
    too_long = "it has waited for others for longer than max_wait_ms"
    if new.overdue and not (old is not None and old.overdue):
        yield Kind.OVERDUE, too_long, {**waited, **limit}
    elif old is not None and _was_let_go(after, old, new, now_ms):
        yield Kind.OVERDUE, f"{too_long} and reads on", {**waited, **limit}
    was_passed_over = old is not None and old.passed_over
    if new.passed_over and not was_passed_over:
        yield Kind.PASSED_OVER, "others have waited for it for longer than max_wait_ms", limit
    if was_passed_over and not new.passed_over:
        configured = before is not None and before.config != after.config
        within = "it is within max_drift_ms of the others again"
        yield Kind.COUNTED, "the group has a new configuration" if configured else within, {}


def _of_holds(before: Group | None, after: Group, old: Reader, new: Reader, since: int) -> Iterator[_Entry]:
    """Yield an entry when a reader has waited for `HOLD_MS`, and another one when that wait ends.
    Both contain the read limit (event time in ms).

    It is enough to check at each report, because a waiting reader reports at least once in every
    third of its lease.
    """
    limit = after.max_desired_watermark
    was_long, goes_on = old.heard_at - since >= HOLD_MS, new.held_since == since
    if goes_on and not was_long and new.heard_at - since >= HOLD_MS:
        details = {"since": since, "read_limit": limit, "blocked_by": _holders(before)}
        yield Kind.WAIT_BEGAN, "it is at the read limit and waits for the readers behind it", details
    elif was_long and not goes_on:
        details = {"since": since, "read_limit": limit, "waited_ms": new.heard_at - since}
        yield Kind.WAIT_ENDED, "it reads again, or is lost", details


def _holders(group: Group | None) -> list[str]:
    """Return up to `HOLDERS_NAMED` readers whose watermark is the group's, as SOURCE/SUBTASK."""
    if group is None:
        return []
    with_lost = group.config.on_lost_reader is OnLostReader.HOLD
    keys = group.readers.at_watermark(group.group_watermark, HOLDERS_NAMED, with_lost=with_lost)
    return ["{}/{}".format(*key) for key in keys]


def _was_let_go(after: Group, old: Reader, new: Reader, now_ms: int) -> bool:
    limit = after.config.max_wait_ms
    if limit is None or after.config.on_max_wait is not OnMaxWait.PROCEED:
        return False
    if old.held_since is None or new.held_since is None:
        return False
    got_on = old.reported is not None and new.reported is not None and new.reported.watermark > old.reported.watermark
    return new.held_since > old.held_since and now_ms - old.held_since >= limit and not got_on
