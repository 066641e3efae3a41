"""Claims: the splits that a reader says it holds, and the rule that decides which reader owns them.

A reader names a split with the number of its assignment. Numbers only rise, even after the store
has lost its history, because they are taken from the clock. So if two readers name the same split,
the one with the higher number got it later. But a reader could make up a number. So a number that
the store does not have counts only if the store may have lost it. Such a *lost* number is above all
numbers known from before the loss (`known_to`), and not above the start of the present history
(`began_at`).

    the split is                            the number is                       the claim
    held by this subtask                    the same, or a lost one             counts (1)
    free                                    the same as its last, or a lost one counts (2)
    held by another, presented after a loss a lost one that is higher           counts (3)
    held by another, got before the loss    a lost one                          waits (4)
    unknown, as the store has lost all data a lost one                          counts
    anything else                                                               is refused

(1) The reader still holds the split, or the same process has registered again.
(2) The reader's lease has ended, and no other reader has got the split since.
(3) This holds only while a reader may still read splits that it got before the loss.
(4) The split is in doubt until the other reader's next exchange. If that exchange presents the
    split, the claim is refused. If it does not, or if that reader's lease ends, the split is free
    (`let_go`). The claimant reads on meanwhile. So when the doubt ends, nothing is assigned for one
    lease. In that time the claimant comes again, or its lease ends (`Work.settle`).

After a loss, a claim that does not count may still record the split's position (`_keep_position`).
This happens if the claim's number is from a clock that was ahead of the store's, or if only the
lost commits listed the split. The split is then free. When splits are assigned again, it goes to
the reader that presented it.

A reader that starts for the first time presents nothing. The exchanges of a fenced process are
refused, so its claims have no effect. Flink has claims only with
`SupportsSplitReassignmentOnRecovery`.
"""

from collections.abc import Set
from enum import Enum, auto

from lockgate.enumerator.model import FreeSplit, OwnedSplit, ReaderId, position_after
from lockgate.enumerator.work import Work
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.steps import Steps, for_each
from lockgate.wire.split_events import NumberedSplit


class Claim(Enum):
    COUNTS = auto()
    WAITS = auto()
    REFUSED = auto()


def claim(work: Work, reader: ReaderId, claimed: NumberedSplit) -> Claim:
    """Return the decision on a claim. If it counts, assign the split to the reader, at the position
    that `position_after` returns.
    """
    id = claimed.split.split_id
    holder = reader if id in work.held(reader) else work.holder(id)
    if holder is not None:
        held = work.held(holder)[id]
        verdict = _of_held(work, reader, holder, held, claimed.assignment)
        if verdict is Claim.COUNTS:
            if holder != reader:
                work.take(holder, id)
            since = max(held.since, work.now.began_at) if claimed.assignment == held.number else work.now_ms
            _renew(work, reader, held.split, claimed, since)
        return verdict
    if id in work.finished:
        return Claim.REFUSED
    free = work.free.get(id)
    if not _is_of_free(work, reader, free, claimed.assignment):
        _keep_position(work, reader, free, claimed)
        return Claim.REFUSED
    if free is not None:
        work.take_free(id)
    _renew(work, reader, claimed.split if free is None else free.split, claimed, work.now_ms)
    return Claim.COUNTS


def give_back(work: Work, reader: ReaderId, claimed: NumberedSplit) -> None:
    """Free a split that the reader gives back, if the reader's claim to it counts.

    The split gets a new number, so that older messages about it no longer count.
    """
    if claim(work, reader, claimed) is Claim.COUNTS:
        work.give_up(reader, claimed.split.split_id, work.number())


def finish(work: Work, reader: ReaderId, claimed: NumberedSplit) -> None:
    """Record a split as read up to its stopping offset, if the reader's claim to it counts."""
    if claim(work, reader, claimed) is Claim.COUNTS:
        held = work.take(reader, claimed.split.split_id)
        work.finish(FreeSplit(split=held.split, number=held.number, last=reader[0]))


def let_go(work: Work, reader: ReaderId, named: Set[str]) -> Steps[None]:
    """Free the reader's splits that are in doubt (`Work.is_in_doubt`), except those in `named`, the
    ids of the splits that the reader still presents.
    """
    held = work.held(reader)
    gone = [(id, each.number) for id, each in held.items() if id not in named and work.is_in_doubt(each)]
    yield from for_each(gone, lambda each: work.give_up(reader, *each))


def _of_held(work: Work, reader: ReaderId, holder: ReaderId, held: OwnedSplit, number: int) -> Claim:
    """Decide on a claim, with the assignment `number`, to a split that `holder` holds."""
    own = holder[0] == reader[0]
    if number == held.number:
        return Claim.COUNTS if own else Claim.REFUSED
    if not _is_lost(work, number, held.number):
        return Claim.REFUSED
    if own or (held.number > work.now.known_to and _awaits_survivors(work)):
        return Claim.COUNTS
    return Claim.WAITS if work.is_in_doubt(held) else Claim.REFUSED


def _is_of_free(work: Work, reader: ReaderId, free: FreeSplit | None, number: int) -> bool:
    """Return whether a claim to a split that no reader holds counts. `free` is the split, or None
    if the enumerator does not know it. `number` is the claim's assignment number.
    """
    if free is not None and free.number:
        return (number == free.number and free.last == reader[0]) or _is_lost(work, number, free.number)
    is_a_split = free is not None if work.now.listed else not work.now.known_to
    return is_a_split and _is_lost(work, number)


def _is_lost(work: Work, number: int, last: int = 0) -> bool:
    """Return whether the store may have lost the assignment `number` of a split, if the split's
    last known number is `last`.
    """
    return max(last, work.now.known_to) < number <= work.now.began_at


def _awaits_survivors(work: Work) -> bool:
    return work.now_ms < work.now.survivors_until


def _keep_position(work: Work, reader: ReaderId, free: FreeSplit | None, claimed: NumberedSplit) -> None:
    if not (work.now.lost_history and _awaits_survivors(work) and claimed.assignment > work.now.known_to):
        return
    if not (work.now.listed if free is None else free.number):
        split = claimed.split if free is None else position_after(free.split, claimed.split, restored=False)
        work.put_free(FreeSplit(split=split, last=reader[0]))


def _renew(work: Work, reader: ReaderId, was: KafkaPartitionSplit, claimed: NumberedSplit, since: int) -> None:
    split = position_after(was, claimed.split, restored=claimed.restored)
    work.hold(reader, OwnedSplit(split=split, number=claimed.assignment, since=since))
