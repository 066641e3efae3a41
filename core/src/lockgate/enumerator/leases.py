"""The leases of splits: how long a silent reader keeps its splits.

In an *exchange* (`lockgate.enumerator.exchange`), a reader lists its splits, and is told what to do
about them. The reader holds its splits for `lease_ms` from each exchange, by the store's clock.
After that they are free, each at the position in the reader's last snapshot. The reader itself
stops earlier: it counts from when it *sent* the exchange, by its own clock, and leaves a margin (r)
for different rates of the two clocks. So the old owner has stopped before a new one starts,
whatever times the two clocks show.

    sent ──────────────────────── lease_ms · (1 − r) ──► the reader stops
      received ──────────────────────────── lease_ms ──► the splits are free

This lease is separate from that of the reader's reports (`lockgate.group.leases`). Splits and
reports are stored apart. If they shared one lease, a report could renew it after another process
has just ended it.

These leases are extended for the same reasons as those of reports: the process stalled
(`group.now`), the clock was set forward (`group.clock_jumps`) or back, or no reader had an exchange
for a while. After such a silence of all readers, each lease is extended by the length of the
silence, but only once until the reader's next exchange. After an extension, at most the full length
of the lease is left. A longer lease is always safe: the split waits, and no other reader has it.
"""

from collections.abc import Iterable
from dataclasses import replace

from lockgate.enumerator.model import Enumerator, ReaderId, SplitOwner
from lockgate.enumerator.work import Work
from lockgate.group.clock_jumps import later
from lockgate.group.leases import tolerance_ms
from lockgate.group.now import ClockJump, Now
from lockgate.steps import Steps, for_each
from lockgate.wire.events import GroupConfig


def lease_ends(reader: SplitOwner) -> int:
    """Return the first millisecond at which the reader no longer owns its splits."""
    return reader.heard_at + reader.lease_ms


def is_over(reader: SplitOwner, now: Now) -> bool:
    return lease_ends(reader) <= now.judged_ms(reader.lease_ms)


def end_leases(work: Work, now: Now) -> Steps[None]:
    yield from work.release([id for id, reader in work.readers.items() if is_over(reader, now)])


def after_time(enumerator: Enumerator, config: GroupConfig, now_ms: int) -> Steps[Enumerator]:
    """Return the enumerator with its leases adjusted to `now_ms`.

    If all readers were silent for longer than `tolerance_ms`, each lease is extended by the
    silence, but only once until the reader's next exchange. No lease lasts longer than its full
    length from now, even if the clock was set back.
    """
    heard_at = enumerator.heard_at
    if heard_at is None:
        return enumerator
    if heard_at > now_ms:
        return _put_back(enumerator, now_ms)
    silence = now_ms - heard_at
    if silence <= tolerance_ms(config):
        return enumerator
    readers = dict[ReaderId, SplitOwner]()
    yield from for_each(
        enumerator.readers.items(), lambda each: readers.update({each[0]: _excused(each[1], silence, now_ms)})
    )
    return replace(enumerator, readers=readers)


def after_jumps(enumerator: Enumerator, jumps: Iterable[ClockJump]) -> Enumerator:
    """Return the enumerator with its times moved forward by `jumps` of the store's clock."""
    for jump in jumps:
        readers = {
            id: replace(reader, heard_at=later(reader.heard_at, jump)) for id, reader in enumerator.readers.items()
        }
        heard_at = None if enumerator.heard_at is None else later(enumerator.heard_at, jump)
        enumerator = replace(
            enumerator,
            readers=readers,
            heard_at=heard_at,
            assigning_at=_moved(enumerator.assigning_at, jump),
            survivors_until=_moved(enumerator.survivors_until, jump),
        )
    return enumerator


def _moved(until: int, jump: ClockJump) -> int:
    """Return the end of a wait, moved by the jump unless the wait was over before the jump."""
    return until if until <= jump.noticed_ms - jump.by_ms else until + jump.by_ms


def _excused(reader: SplitOwner, silence: int, now_ms: int) -> SplitOwner:
    if reader.excused:
        return reader
    return replace(reader, heard_at=min(reader.heard_at + silence, now_ms), excused=True)


def _put_back(enumerator: Enumerator, now_ms: int) -> Enumerator:
    """Return the enumerator after the clock was set back to `now_ms`.

    From now on, each lease lasts at most its full length. The wait for `assigning_at` lasts at most
    the longest lease.
    """
    readers = {id: replace(reader, heard_at=min(reader.heard_at, now_ms)) for id, reader in enumerator.readers.items()}
    longest = max((reader.lease_ms for reader in readers.values()), default=0)
    assigning_at = min(enumerator.assigning_at, now_ms + longest)
    return replace(enumerator, readers=readers, heard_at=now_ms, assigning_at=assigning_at)
