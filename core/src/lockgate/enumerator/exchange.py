"""The exchange: a reader lists all its splits, and the answer says what to do about them.

Nothing depends on whether an earlier exchange was lost, came twice or came late, so any coordinator
process that uses the store can answer. Five rules ensure that each split has one reader at most,
and the right position:

1. *Numbers.* Each assignment has a number (`model`). A *snapshot* lists the splits that a reader
   holds, with their positions. A split in it counts only with the number of its present assignment
   (`claims`). So a snapshot from a fenced reader changes nothing, and a made-up number gains
   nothing.
2. *Leases.* A reader keeps a split until the reader gives it back or leaves, or until the reader's
   lease is over (`leases`). A split that an exchange does not name stays assigned. The answer adds
   it again, because an earlier answer may have been lost.
3. *Positions* rise with each snapshot. An older message that comes late has a lower position, which
   is ignored. Only a restore, which a user asks for, sets a position back.
4. *Shares* decide how many splits each reader gets, with the fewest moves (`shares`, `assigning`).
5. *Loss.* The store may lose commits that were already answered. A reader proves a loss if it has
   seen a revision or a number from before this history began, or a revision above the present one.
   Then nothing is assigned for one lease. By its end, every reader with a split from the lost
   history has presented that split, or has lost its lease. One reader is enough to prove the loss,
   even one that holds nothing. A new enumerator waits for such a proof for two report intervals, or
   for one lease if that is shorter.

Two readers never have the same split. By (2), a split goes to another reader only after its owner
has given it back, or has stopped by its own clock. By (5), this holds after a loss too, unless the
loss leaves no trace. There are three such cases:

* No reader that has seen the lost history comes within two report intervals.
* The new history begins in the millisecond of the lost one's last commit.
* Only renewed leases were lost, and the store does not tell that (`careful`).

Nothing that a reader sends raises a revision or a number: both follow the store's time.

This follows Flink's `SourceCoordinator`: `handleEventFromOperator` and `subtaskReset` with
`addSplitsBack`. Flink sends each event once, over a connection that its job manager fences.
"""

import json
from dataclasses import dataclass, replace

from lockgate.enumerator.arrivals import LastReports, arrived, take_over
from lockgate.enumerator.assigning import assign
from lockgate.enumerator.claims import Claim, claim, finish, give_back, let_go
from lockgate.enumerator.discovery import lose_beginnings, request_to, take_list
from lockgate.enumerator.leases import after_time, end_leases
from lockgate.enumerator.model import Enumerator, MailedEvent, ReaderId, ReceivedEvent, SplitOwner
from lockgate.enumerator.work import Work
from lockgate.errors import StaleEpoch
from lockgate.group.group import tick
from lockgate.group.now import Now
from lockgate.steps import Steps, for_each
from lockgate.wire.events import GroupConfig
from lockgate.wire.split_events import SOURCE_EVENTS_KEPT, NumberedSplit, SplitExchange, StoppedSplit

INTERVALS = 2
"""The number of report intervals for which a new enumerator assigns nothing."""


@dataclass(frozen=True, slots=True)
class Exchanged:
    """The result of an exchange. `stop` lists presented splits that the reader does not own."""

    enumerator: Enumerator
    stop: tuple[StoppedSplit, ...]


def create(config: GroupConfig, now_ms: int, lost: bool = False) -> Enumerator:
    """Return a new enumerator. At first it assigns nothing, because the store may have lost an
    earlier enumerator, whose readers may still hold splits and have not reported them yet. If the
    store is known to have `lost` commits, that takes one lease.
    """
    waits_ms = config.lease_ms if lost else min(config.lease_ms, INTERVALS * config.update_interval_ms)
    return Enumerator(
        began_at=now_ms,
        revision=now_ms,
        assigning_at=now_ms + waits_ms,
        survivors_until=now_ms + config.lease_ms,
        last_number=now_ms,
        lost_history=lost,
    )


def exchange(
    enumerator: Enumerator,
    reader: ReaderId,
    source: str,
    event: SplitExchange,
    config: GroupConfig,
    now: Now,
    reports: LastReports,
) -> Steps[Exchanged]:
    """Process `event`, an exchange of the registered reader `reader`. Takes O(readers + splits).

    Raises `StaleEpoch` if the subtask has a newer epoch.
    """
    now_ms, newest = now.ms, enumerator.newest().get(reader[0], 0)
    if newest > reader[1]:
        raise StaleEpoch(source, *reader, newest)
    work = Work((yield from after_time(enumerator, config, now_ms)), now_ms, reports.watermark)
    yield from _hear(work, reader, event, config)
    yield from _notice_loss(work, event, config)
    stop = yield from _take_claims(work, reader, event)
    yield from end_leases(work, now)
    request = request_to(work.so_far, reader, now_ms)
    if request is not None and event.discovered is not None and event.discovered.request == request:
        yield from take_list(work, event.discovered, reader[0])
    yield from assign(work)
    if reader in work.readers:
        yield from arrived(work, reader, event, reports)
    stopped = tuple(StoppedSplit(split=each.split.split_id, assignment=each.assignment) for each in stop)
    return Exchanged((yield from work.result()), stopped)


def leave(enumerator: Enumerator, reader: ReaderId, now_ms: int, reports: LastReports) -> Steps[Enumerator]:
    """Remove `reader` and free its splits. Return the same object if the reader is unknown."""
    if reader not in enumerator.readers:
        return enumerator
    work = Work(enumerator, now_ms, reports.watermark)
    yield from work.release([reader])
    yield from assign(work)
    return (yield from work.result())


def careful(enumerator: Enumerator, config: GroupConfig, now_ms: int) -> Steps[Enumerator]:
    """Begin a new history, as the store may have lost commits. Nothing is assigned for a lease."""
    work = Work(enumerator, now_ms)
    yield from _begin_again(work, config)
    return (yield from work.result())


def mail(enumerator: Enumerator, text: str, subtask: int | None, now_ms: int, id: str = "") -> Enumerator:
    """Return the enumerator with one more SourceEvent, whose JSON is `text`.

    It is for the reader `subtask`, or for all readers if that is None. If there is an event with
    this `id` already, return the same object. An empty `id` equals no other.
    """
    if id and any(each.id == id for each in enumerator.to_readers):
        return enumerator
    number = tick(enumerator.last_number, now_ms)
    mailed = (*enumerator.to_readers, MailedEvent(number=number, text=text, subtask=subtask, id=id))
    return replace(enumerator, last_number=number, to_readers=mailed[-SOURCE_EVENTS_KEPT:])


def _hear(work: Work, id: ReaderId, event: SplitExchange, config: GroupConfig) -> Steps[None]:
    known = work.readers.get(id)
    old = known or SplitOwner(heard_at=0, lease_ms=0, events_from=work.last_number)
    work.set_reader(
        id,
        replace(
            old,
            heard_at=work.now_ms,
            lease_ms=config.lease_ms,
            capacity=event.capacity,
            discovery_interval_ms=event.discovery_interval_ms,
            is_processing_backlog=event.is_processing_backlog,
            requests=event.request_split,
            excused=False,
        ),
    )
    if known is None:
        yield from take_over(work, id)
    work.set(heard_at=work.now_ms)
    received = {(each.subtask, each.id) for each in work.now.from_readers}
    new = [each for each in event.source_events if (id[0], each.id) not in received]
    if new:
        more = (ReceivedEvent(id=each.id, subtask=id[0], at=work.now_ms, text=text_of(each.event)) for each in new)
        work.set(from_readers=(*work.now.from_readers, *more)[-SOURCE_EVENTS_KEPT:])


def _take_claims(work: Work, reader: ReaderId, event: SplitExchange) -> Steps[list[NumberedSplit]]:
    """Process all splits that the reader presents, and return those that it does not own."""
    stop = list[NumberedSplit]()

    def take(each: NumberedSplit) -> None:
        if claim(work, reader, each) is Claim.REFUSED:
            stop.append(each)

    yield from for_each(event.finished, lambda each: finish(work, reader, each))
    yield from for_each(event.given_back, lambda each: give_back(work, reader, each))
    yield from for_each(event.held, take)
    yield from let_go(work, reader, {each.split.split_id for each in event.held})
    return stop


def text_of(event: object) -> str:
    return json.dumps(event, separators=(",", ":"))


def _notice_loss(work: Work, event: SplitExchange, config: GroupConfig) -> Steps[None]:
    """Assign nothing for up to one lease if `event` proves that the store has lost commits.

    The proof is a revision or an assignment number that this history does not contain.
    """
    now, seen = work.now, event.seen
    if seen is not None and seen > now.revision:
        yield from _begin_again(work, config)
        return
    numbers = (each.assignment for each in (*event.held, *event.given_back, *event.finished))
    is_older = (seen is not None and seen < now.began_at) or any(number <= now.began_at for number in numbers)
    if is_older and not now.lost_history:
        until = min(now.survivors_until, work.now_ms + config.lease_ms)  # since this history began
        work.set(lost_history=True, assigning_at=max(now.assigning_at, until))
        yield from lose_beginnings(work)


def _begin_again(work: Work, config: GroupConfig) -> Steps[None]:
    """Begin a new history after the store has lost its last commits."""
    now, began_at = work.now, max(work.now_ms, work.last_number)
    until, waits = work.now_ms + config.lease_ms, work.now_ms < now.assigning_at
    work.set(
        began_at=began_at,
        known_to=now.known_to if work.last_number == now.began_at else work.last_number,
        survivors_until=until,
        assigning_at=max(now.assigning_at, until),
        lost_history=True,
        listed=now.static,
        discovered_at=None,
    )
    work.begin_at(began_at)
    yield from lose_beginnings(work, unassigned=waits)
