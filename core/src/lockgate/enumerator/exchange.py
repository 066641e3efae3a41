"""The exchange: what one reader says of its splits, and what it is to do.

A reader states all that it has; the answer states all that it is to have. Nothing depends on
whether an earlier exchange was lost, came twice or came late, so a coordinator may be any process
over the store. Five rules keep each split in one reader's hands, and its position where it belongs:

1. *Numbers.* Each assignment has a number of its own (`model`). A snapshot counts under the number
   of the present assignment alone (`claims`), so one of a fenced reader changes nothing.
2. *Leases.* A split leaves a reader's hands when the reader gives it back or leaves, or when its
   lease is over (`leases`). A split that an exchange does not name stays assigned, and is added
   again: the answer that added it may have been lost.
3. *Positions* rise with each snapshot. An older message that comes late has a lower one, which is
   left out. Only a restore, which its user wants, sets one back.
4. *Shares* say who gets how many, with the fewest moves (`shares`, `assigning`).
5. *Loss.* The store may lose what it had answered. A number or a revision that this history has not
   given out proves it. Then nothing is assigned for one lease: whoever holds a split from the lost
   history has come by then and presented it, or its lease is over. A new enumerator waits for two
   intervals of reports in any case, since survivors come within these.

So why is no split in two readers' hands? By (2) a split is assigned to another one only after its
owner gave it back, or has stopped by its own clock. By (5) that holds over a loss too, unless the
loss leaves no trace: no survivor comes within two intervals, while one that was cut off from the
coordinator still reads on, within its lease.

Follows Flink's `SourceCoordinator`: `handleEventFromOperator` and `subtaskReset` with
`addSplitsBack`. Flink sends events over a connection that its job manager fences, once each. Here
they are levels in an answer: AddSplits, NoMoreSplits, SourceEvents, IsProcessingBacklog. Used by
the coordinator.
"""

import json
from dataclasses import dataclass, replace

from lockgate.enumerator.arrivals import LastReports, arrived, take_over
from lockgate.enumerator.assigning import assign
from lockgate.enumerator.claims import claim, finish, give_back, is_of_lost_history
from lockgate.enumerator.discovery import lose_beginnings, take_list
from lockgate.enumerator.leases import after_time, end_leases
from lockgate.enumerator.model import (
    AHEAD_MS,
    Enumerator,
    MailedEvent,
    ReaderId,
    ReceivedEvent,
    SplitOwner,
)
from lockgate.enumerator.work import Work
from lockgate.errors import InvalidMessage, StaleEpoch
from lockgate.group.group import tick
from lockgate.group.hearing import ALWAYS, Hearing
from lockgate.steps import Steps, at_once, for_each
from lockgate.wire.events import GroupConfig
from lockgate.wire.split_events import SOURCE_EVENTS_KEPT, NumberedSplit, SplitExchange, StoppedSplit

NO_REPORTS = LastReports(None, "")

INTERVALS = 2
"""For so many intervals of reports a new enumerator assigns nothing."""


@dataclass(frozen=True, slots=True)
class Exchanged:
    """The enumerator after an exchange. `stop`: what the reader presented and does not hold."""

    enumerator: Enumerator
    stop: tuple[StoppedSplit, ...]


def create(config: GroupConfig, now_ms: int) -> Enumerator:
    """A new enumerator, which waits for survivors of a lost one."""
    waits = min(config.lease_ms, INTERVALS * config.update_interval_ms)
    return Enumerator(created_at=now_ms, revision=now_ms, assigning_at=now_ms + waits)


def exchange(
    enumerator: Enumerator,
    reader: ReaderId,
    source: str,
    event: SplitExchange,
    config: GroupConfig,
    now_ms: int,
    hearing: Hearing = ALWAYS,
    reports: LastReports = NO_REPORTS,
) -> Exchanged:
    """As `exchange_in_steps`, without a pause."""
    return at_once(exchange_in_steps(enumerator, reader, source, event, config, now_ms, hearing, reports))


def exchange_in_steps(
    enumerator: Enumerator,
    reader: ReaderId,
    source: str,
    event: SplitExchange,
    config: GroupConfig,
    now_ms: int,
    hearing: Hearing = ALWAYS,
    reports: LastReports = NO_REPORTS,
) -> Steps[Exchanged]:
    """Takes one exchange of a registered reader of `source`. `reports`: of the source's readers, as
    the group has them. Raises `StaleEpoch`, and `InvalidMessage` for a number from the future.
    O(readers + splits).
    """
    newest = enumerator.newest().get(reader[0], 0)
    if newest > reader[1]:
        raise StaleEpoch(source, *reader, newest)
    _check_numbers(event, max(now_ms, enumerator.last_number, enumerator.revision) + AHEAD_MS)
    work = Work((yield from after_time(enumerator, config, now_ms)), now_ms, reports.watermark)
    yield from _hear(work, reader, event, config)
    yield from _notice_loss(work, reader, event, config)
    stop = list[NumberedSplit]()
    yield from for_each(event.finished, lambda each: finish(work, reader, each))
    yield from for_each(event.given_back, lambda each: give_back(work, reader, each))
    yield from for_each(event.held, lambda each: None if claim(work, reader, each) else stop.append(each))
    yield from end_leases(work, hearing)
    if event.discovered is not None and not work.now.static and event.discovery_interval_ms is not None:
        yield from take_list(work, event.discovered, reader[0])
    yield from assign(work)
    if reader in work.readers:
        yield from arrived(work, reader, event, reports)
    stopped = tuple(StoppedSplit(split=each.split.split_id, assignment=each.assignment) for each in stop)
    return Exchanged((yield from work.result()), stopped)


def leave(
    enumerator: Enumerator, reader: ReaderId, now_ms: int, reports: LastReports = NO_REPORTS
) -> Steps[Enumerator]:
    """The reader has stopped: what it held is free at once, at the last snapshot's positions. The
    same object where it held nothing.
    """
    if reader not in enumerator.readers:
        return enumerator
    work = Work(enumerator, now_ms, reports.watermark)
    yield from work.release([reader])
    yield from assign(work)
    return (yield from work.result())


def careful(enumerator: Enumerator, config: GroupConfig, now_ms: int) -> Steps[Enumerator]:
    """The enumerator after the coordinator itself has noticed that the store lost its last commits:
    nothing is assigned for one lease.
    """
    work = Work(enumerator, now_ms)
    yield from _wait_for_survivors(work, config)
    return (yield from work.result())


def mail(enumerator: Enumerator, text: str, subtask: int | None, now_ms: int, id: str = "") -> Enumerator:
    """The enumerator with one more SourceEvent to its readers. The same object where it has the
    event of this `id`.
    """
    if id and any(each.id == id for each in enumerator.to_readers):
        return enumerator
    number = tick(enumerator.last_number, now_ms)
    mailed = (*enumerator.to_readers, MailedEvent(number=number, text=text, subtask=subtask, id=id))
    return replace(enumerator, last_number=number, to_readers=mailed[-SOURCE_EVENTS_KEPT:])


def _check_numbers(event: SplitExchange, most: int) -> None:
    """A number is the store's time, or a little more, whatever history it is of."""
    numbers = [
        (f"{kind}[{index}].assignment", each.assignment)
        for kind, splits in (("held", event.held), ("given_back", event.given_back), ("finished", event.finished))
        for index, each in enumerate(splits)
        if each.assignment > most
    ]
    if event.seen is not None and event.seen > most:
        numbers.append(("seen", event.seen))
    if numbers:
        raise InvalidMessage(
            [(field, "is more than a minute above the store's time") for field, _ in numbers[:20]], len(numbers[20:])
        )


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


def text_of(event: object) -> str:
    """A SourceEvent as JSON text."""
    return json.dumps(event, separators=(",", ":"))


def _notice_loss(work: Work, reader: ReaderId, event: SplitExchange, config: GroupConfig) -> Steps[None]:
    """Whether the reader knows of something that this history has lost. Then others may, too."""
    now = work.now
    claimed = [*event.held, *event.given_back, *event.finished]
    ahead = event.seen is not None and event.seen > now.revision
    waiting = now.lost_history and work.now_ms < now.assigning_at
    if not ahead and (waiting or not any(is_of_lost_history(work, reader, each) for each in claimed)):
        return
    work.number_above(max((each.assignment for each in claimed), default=0))
    work.set(revision=max(now.revision, event.seen or 0))
    yield from _wait_for_survivors(work, config)


def _wait_for_survivors(work: Work, config: GroupConfig) -> Steps[None]:
    """Nothing is assigned for one lease, and the splits are listed anew."""
    assigning_at = max(work.now.assigning_at, work.now_ms + config.lease_ms)
    work.set(lost_history=True, assigning_at=assigning_at, discovered_at=None)
    yield from lose_beginnings(work)
