"""Leases: when a reader is lost, and why an outage is not a loss.

A reader that has reported and is then silent for `lease_ms` is lost. From that millisecond on, the
group's `on_lost_reader` decides whether it still counts. Its reach (`alignment`) is dropped,
because the reader is not expected to run its next batch. A finished reader needs no lease. Flink
has no leases: the last watermark of a dead subtask blocks its group for ever (FLINK-40505).

A scheduled query ends a run, and begins the next one an hour later, for example. In between its
source has to count, because readers that ran ahead of it would make its rows late. So the last
report of a run may *park* the reader: it then has a lease of `park_ms` instead of `lease_ms`. A
parked reader offers no reach, since its next batch is far away. Its next report ends the parking.

The silence of one reader is a loss; the silence of all is an outage. A living group is never silent
for longer than `tolerance_ms`. After a longer silence the service, the store or the network was
down, and a lease that ran out meanwhile proves nothing. If it counted as a loss, the first reader
to come back would be the only one that counts, and could read ahead of all others.

So the first command after such a silence adds its length to the leases of all readers that were
alive when it began. This includes readers that have been marked lost since. They have as much time
left as they had then, and their last reports still limit the ceiling. A parked reader had announced
its silence, so its lease then ends within one `lease_ms`, or when it would have ended anyway,
whichever is later.

A clock that was put back (for example, because another Redis took over) would make each lease
longer by as much, and hide the next silence. So the first command that finds the clock behind the
last report, by more than the tolerance, moves all times of the group back by the difference. A
clock that was ahead for a while has ended leases too early. So readers that were marked lost at a
time that is now in the future, by more than the tolerance, are judged again.

**Why three rules.** Besides silences, leases leave out the stalls of the process that judges them
(`now`). Times are moved when the store's clock is put forward (`clock_jumps`). None of the three
replaces another one; tests/core/group/test_each_clock_rule.py has these counter-examples:

* Without the rule of silence: Redis is down for five minutes. No process stalls and no clock jumps,
  but the first reader to come back finds all others lost.
* Without the rule of stalls: a process is stopped for two leases. Its timer fires before it reads
  its sockets, and announces that all readers are lost. The rule of silence does not help here: a
  silence ends only with a reader's command, and stalls that are each shorter than the tolerance do
  not count as one.
* Without the rule of jumps: the clock is put forward by two hours while a reader is parked for one.
  This looks like a silence of two hours, and after a silence a parked reader gets one lease only.

**Why not one rule**, that of client-go's leader election: a process ends a lease once it has seen
no change of the reader for `lease_ms` of its own monotonic clock. Only time between checks that are
close together counts. With this rule, clock jumps, stalls and outages would be one case. But it has
three gaps:

* Time in which no process checks would never count, such as while all readers of a group are
  parked.
* A process that starts has seen nothing yet, so a dead reader would block the others for ever if
  processes restart more often than leases end.
* Readers and groups expire after a week, which needs the store's clock, and so the rule of jumps.

Nor can stalls be corrected in the stored times, as jumps are: each process would move the times by
its own stalls, and two processes that each stall half of the time would keep a dead reader for
ever.

**Why this is safe.** The rules only lengthen leases, so they can make readers wait longer, but let
none read too early. No wait is endless: an outage extends a reader's lease once (`Reader.excused`),
and not again until the reader has reported. So a dead reader among slow ones is lost after its
lease and one silence.
"""

from collections.abc import Callable
from dataclasses import replace

from lockgate.group.group import Group
from lockgate.group.now import Now
from lockgate.group.reader import Reader
from lockgate.group.readers import Ranking
from lockgate.wire.events import GroupConfig, ReportedWatermarkEvent


def lease_ends(reader: Reader, config: GroupConfig) -> int:
    """Return the first millisecond at which the reader is lost, unless it reports before then."""
    parked = None if reader.reported is None else reader.reported.park_ms
    return reader.heard_at + (config.lease_ms if parked is None else parked)


def first_lease_end(group: Group) -> int | None:
    """Return the time (ms) at which the first running lease ends, or None if none is running."""
    heard, parked = group.readers.first(Ranking.HEARD), group.readers.first(Ranking.PARKED)
    ends = [] if heard is None else [heard + group.config.lease_ms]
    return min(ends if parked is None else [*ends, parked], default=None)


def is_parked(reader: Reader) -> bool:
    return reader.reported is not None and reader.reported.park_ms is not None and not reader.reported.finished


def has_finished(reader: Reader) -> bool:
    return reader.reported is not None and reader.reported.finished


def is_lost(reader: Reader, config: GroupConfig, now: Now) -> bool:
    """Return whether the reader's lease has ended and the reader has not finished. A reader that
    has never reported can be lost, too.
    """
    return lease_ends(reader, config) <= now.judged_ms(config.lease_ms) and not has_finished(reader)


def in_grace(group: Group, now: Now) -> bool:
    """Return whether the group is so new that readers of its predecessor may still come back."""
    return now.judged_ms(group.config.lease_ms) < group.grace_until


def tolerance_ms(config: GroupConfig) -> int:
    """Return the longest silence of all readers (ms) that does not count as an outage."""
    return max(2 * config.update_interval_ms, config.lease_ms // 3)


def silent_ms(group: Group, now_ms: int) -> int:
    """Return the time (ms) since any reader's last command, or 0 if that is within `tolerance_ms`.

    The result is negative if the clock was put back by more than that.
    """
    silence = 0 if group.heard_at is None else now_ms - group.heard_at
    return 0 if abs(silence) <= tolerance_ms(group.config) else silence


def after_silence(group: Group, now_ms: int) -> Group:
    """Return the group to which a reader's command at `now_ms` is applied.

    If the command ends an outage, leases and waits are extended. If the clock was put back, all
    times are moved back.
    """
    silence, config, readers = silent_ms(group, now_ms), group.config, group.readers
    if silence == 0:
        return group
    if silence < 0:
        return replace(with_times_moved(group, lambda time_ms: time_ms + silence, now_ms), losses_at=None)
    excused = {
        key: _excused(reader, config, silence, now_ms)
        for key, reader in readers.items()
        if not reader.excused or reader.held_since is not None
    }
    return replace(group, readers=readers.updated(excused))


def after_leases(group: Group, now: Now) -> Group:
    """Return the group with each reader marked lost whose lease has ended by `now`.

    Readers that are marked lost only because the clock was ahead are unmarked first.
    """
    group = _judged_anew(group, now.ms)
    first, judged_ms = first_lease_end(group), now.judged_ms(group.config.lease_ms)
    if first is None or first > judged_ms:
        return group
    readers = group.readers
    ended = readers.until(Ranking.HEARD, judged_ms - group.config.lease_ms) + readers.until(Ranking.PARKED, judged_ms)
    lost = {key: readers[key]._replace(lost=True, held_since=None, overdue=False) for key in ended}
    return replace(group, readers=readers.updated(lost), losses_at=now.ms)


def without_reach(reported: ReportedWatermarkEvent) -> ReportedWatermarkEvent:
    """Return the report without its `reach`, for a reader that will not run its next batch soon."""
    return reported if reported.reach is None else replace(reported, reach=None)


def _judged_anew(group: Group, now_ms: int) -> Group:
    """Return the group with readers unmarked that are lost only because the clock was ahead.

    Takes O(readers), but only once each time that the clock is put back.
    """
    if group.losses_at is None or group.losses_at - now_ms <= tolerance_ms(group.config):
        return group
    living = [
        key for key, reader in group.readers.items() if reader.lost and not is_lost(reader, group.config, Now(now_ms))
    ]
    readers = group.readers.updated({key: group.readers[key]._replace(lost=False) for key in living})
    return replace(group, readers=readers, losses_at=now_ms)


def _excused(reader: Reader, config: GroupConfig, silence: int, now_ms: int) -> Reader:
    """Return the reader with its lease and its wait extended by `silence` (ms).

    The lease is extended only once until the next report, and to at most one whole lease from now.
    A reader that was lost before the silence stays lost.
    """
    held_since = None if reader.held_since is None else reader.held_since + silence
    heard_at, lost, reported = reader.heard_at, reader.lost, reader.reported
    if not reader.excused:
        ends = lease_ends(reader, config)
        if ends <= now_ms and reported is not None and not reported.finished:
            reported = without_reach(reported)
        # The silence gives a reader one whole lease at most.
        longer = min(silence, now_ms + config.lease_ms - ends)
        heard_at += max(0, longer)
        lost = lost and ends + longer <= now_ms
    return reader._replace(heard_at=heard_at, excused=True, lost=lost, reported=reported, held_since=held_since)


def with_times_moved(group: Group, move: Callable[[int], int], now_ms: int) -> Group:
    """Return the group with `move` applied to the times of its readers, last command and grace.

    A lost reader whose lease now ends after `now_ms` is no longer marked lost.
    """
    readers, lease_ms = group.readers, group.config.lease_ms
    moved = {key: _moved(reader, group.config, move, now_ms) for key, reader in readers.items()}
    return replace(
        group,
        heard_at=None if group.heard_at is None else move(group.heard_at),
        # The grace began one lease before its end, even if earlier jumps have moved it.
        grace_until=move(group.grace_until - lease_ms) + lease_ms,
        readers=readers.updated({key: reader for key, reader in moved.items() if reader is not readers[key]}),
    )


def _moved(reader: Reader, config: GroupConfig, move: Callable[[int], int], now_ms: int) -> Reader:
    heard_at, held_since = move(reader.heard_at), reader.held_since
    held_since = None if held_since is None else move(held_since)
    if (heard_at, held_since) == (reader.heard_at, reader.held_since):
        return reader
    return reader._replace(
        heard_at=heard_at,
        lost=reader.lost and lease_ends(reader, config) + heard_at - reader.heard_at <= now_ms,
        progressed_at=None if reader.progressed_at is None else move(reader.progressed_at),
        held_since=held_since,
    )
