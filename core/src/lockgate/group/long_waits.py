"""Long waits: the limit on how long a reader waits for others (`max_wait_ms` of a group).

If a backfill that is a year behind joins a group, production waits until the backfill has caught
up, as in Flink. A group may limit the wait, and choose what happens then (`on_max_wait`):

* `alarm`: the wait is logged and counted, once. Nothing else changes.
* `proceed`: the same, and the waiting reader goes on: all readers that block it are *passed over*.
  A passed-over reader does not count in the group's watermark, and reads as fast as it can, because
  the ceiling is far above it. The group no longer waits for expected sources.

**When a reader waits.** Each of its reports decides this: the reader waits if its watermark is at
the ceiling or above, so that its next record is not allowed, and another reader is lower. (No
reader waits for itself.) Readers report at least three times in a lease, so a wait is known to
within a third of a lease. A wait ends with a report from below the ceiling, or with a report that
parks the reader. It begins again with each report of a higher watermark, because a reader that
makes progress, however slow, is not stuck. Time in which no reader could make progress does not
count as waiting: an outage (`leases`), or a stall of the process (`now`).

**Which readers block a waiting reader.** Another reader blocks it if that one does not wait itself,
and its watermark plus the drift is at or below that of the waiting reader. A passed-over reader
counts again as soon as it reports a watermark that is at most the drift below that of the others.
So the others do not have to wait while it reads more than one drift. It also counts again when no
other reader counts, because otherwise all passed-over readers would run without a limit.
"""

from dataclasses import replace

from lockgate.group.group import Group
from lockgate.group.leases import silent_ms
from lockgate.group.now import Now
from lockgate.group.reader import Reader, ReaderKey, watermark_after, watermark_of
from lockgate.group.readers import Ranking
from lockgate.watermark import MAX, add
from lockgate.wire.events import Mode, OnLostReader, OnMaxWait, ReportedWatermarkEvent


def wait_after(event: ReportedWatermarkEvent, reader: Reader, group: Group, now_ms: int) -> tuple[int | None, bool]:
    """Return `held_since` (ms, or None) and `passed_over` of `reader` after its report `event`."""
    watermark, ceiling = watermark_after(event, reader), group.max_desired_watermark
    held = (
        ceiling <= watermark < MAX
        and group.group_watermark < watermark
        and group.config.mode is Mode.ENFORCE
        and event.park_ms is None
    )
    behind = reader.passed_over and add(watermark, group.config.max_drift_ms) < group.group_watermark < MAX
    if not held:
        return None, behind
    got_on = reader.reported is not None and watermark > watermark_of(reader)
    return now_ms if reader.held_since is None or got_on else reader.held_since, behind


def wait_ends(group: Group, now_ms: int) -> int | None:
    """Return the time (ms) at which the first wait becomes too long.

    Return None if no reader waits, if the group has no `max_wait_ms`, or during an outage.
    """
    since = group.readers.first(Ranking.HELD)
    if since is None or group.config.max_wait_ms is None or silent_ms(group, now_ms):
        return None
    return add(since, group.config.max_wait_ms)


def after_long_waits(group: Group, now: Now) -> Group:
    """Return the group with each reader that has waited for too long marked as `overdue`.

    With `on_max_wait: proceed`, mark no reader as `overdue`. Instead, mark the readers that block a
    reader that has waited for too long as `passed_over`.
    """
    ends, longest_ms = wait_ends(group, now.ms), group.config.max_wait_ms
    if ends is None or longest_ms is None:
        return group
    judged_ms = now.judged_ms(longest_ms)
    if judged_ms < ends:
        return group
    waiting = group.readers.until(Ranking.HELD, judged_ms - longest_ms)
    if group.config.on_max_wait is OnMaxWait.PROCEED:
        return _let_go(group, waiting, now.ms)
    return replace(
        group, readers=group.readers.updated({key: group.readers[key]._replace(overdue=True) for key in waiting})
    )


def _let_go(group: Group, waiting: list[ReaderKey], now_ms: int) -> Group:
    """Return the group with the readers passed over that block those in `waiting`.

    Readers that wait themselves are not passed over. The waits of `waiting` begin again, and all
    expected sources count as seen.
    """
    readers, config = group.readers, group.config
    ahead = max(watermark_of(readers[key]) for key in waiting)
    holding = readers.up_to(add(ahead, -config.max_drift_ms), with_lost=config.on_lost_reader is OnLostReader.HOLD)
    changes = {key: readers[key]._replace(passed_over=True) for key in holding if readers[key].held_since is None}
    changes |= {key: readers[key]._replace(held_since=now_ms) for key in waiting}
    return replace(
        group, readers=readers.updated(changes), sources_seen=group.sources_seen | set(config.expected_sources)
    )
