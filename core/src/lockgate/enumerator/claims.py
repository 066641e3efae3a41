"""Claims: what a reader presents, and whose it is.

A reader names a split with the number under which it was assigned. Numbers only rise, also over a
lost history, whose numbers are times of the past. So of two that name the same split the higher
number is the later assignment, and the reader that presents it was the last to get the split.

    the split is                              the number is         the claim
    in this reader's hands                    the same              counts
    in the hands of its own older epoch       the same              counts (1)
    free                                      the same as its last  counts (2)
    anywhere but finished, or not known       higher than all of it counts (3)
    anything else                                                   does not count

(1) The same process has registered again. (2) The reader's lease has ended, and nobody else got the
split since. (3) The split was assigned in a lost history.

Whoever starts anew has no number, and presents nothing. A process that was fenced presents to no
effect: its exchanges are refused. A claim that counts with a number of a lost history also proves
the loss (`exchange`). Flink has no claims, but for `SupportsSplitReassignmentOnRecovery`, where
readers bring their splits along when they register. Used by `exchange`.
"""

from lockgate.enumerator.model import FreeSplit, OwnedSplit, ReaderId, position_after
from lockgate.enumerator.work import Work
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.wire.split_events import NumberedSplit


def claim(work: Work, reader: ReaderId, claimed: NumberedSplit) -> bool:
    """Takes the split into the reader's hands at the position that counts, if the claim counts.
    Returns whether it does.
    """
    id, number = claimed.split.split_id, claimed.assignment
    own = work.held(reader).get(id)
    if own is not None:
        if number < own.number:
            return False
        _renew(work, reader, own.split, claimed, own.since if number == own.number else work.now_ms)
        return True
    free = work.free.get(id)
    if free is not None:
        if number < free.number or (number == free.number and free.last != reader[0]):
            return False
        work.take_free(id)
        _renew(work, reader, free.split, claimed, work.now_ms)
        return True
    holder = work.holder(id)
    if holder is not None:
        held = work.held(holder)[id]
        if number < held.number or (number == held.number and holder[0] != reader[0]):
            return False
        work.take(holder, id)
        _renew(work, reader, held.split, claimed, held.since if number == held.number else work.now_ms)
        return True
    if id in work.finished:
        return False
    work.hold(reader, OwnedSplit(split=claimed.split, number=number, since=work.now_ms))
    return True


def is_of_lost_history(work: Work, reader: ReaderId, claimed: NumberedSplit) -> bool:
    """Whether the number is above all that this history knows of the split, or the split itself is
    unknown.
    """
    id = claimed.split.split_id
    own = work.held(reader).get(id)
    if own is not None:
        return claimed.assignment > own.number
    if id in work.free:
        return claimed.assignment > work.free[id].number
    if id in work.finished:
        return False
    holder = work.holder(id)
    return claimed.assignment > (0 if holder is None else work.held(holder)[id].number)


def give_back(work: Work, reader: ReaderId, claimed: NumberedSplit) -> None:
    """The reader holds the split no more: it is free at its final position, under a number that no
    older message has.
    """
    if claim(work, reader, claimed):
        work.give_up(reader, claimed.split.split_id, work.number())


def finish(work: Work, reader: ReaderId, claimed: NumberedSplit) -> None:
    """The reader has read the split up to its stopping offset."""
    if claim(work, reader, claimed):
        held = work.take(reader, claimed.split.split_id)
        work.finish(FreeSplit(split=held.split, number=held.number, last=reader[0]))


def _renew(work: Work, reader: ReaderId, was: KafkaPartitionSplit, claimed: NumberedSplit, since: int) -> None:
    split = position_after(was, claimed.split, restored=claimed.restored)
    work.hold(reader, OwnedSplit(split=split, number=claimed.assignment, since=since))
