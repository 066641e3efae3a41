"""Discovery: a reader sends the list of a source's splits on request, or an operator sets it.

The coordinator has no access to Kafka. Of the living readers that can list the splits, it asks the
one with the lowest subtask, at once and then at that reader's interval. A request carries the
number of the previous list. A list counts only as the answer to the open request, so a list that
comes late, twice or unasked changes nothing. Each list is complete, so there are three kinds of
splits:

* *New* splits. Those in the first list begin where the list says. In a later list an offset counts
  as it is, but a symbolic position (such as *latest*) becomes *earliest*: the split has appeared
  since the previous list, so all of it is unread.
* *Missing* splits, which the list no longer names. A reader keeps those that it holds, and no other
  reader gets them. They are no longer missing once a list names them again. A missing split that
  was never assigned is removed.
* *Known* splits. They keep their position, whatever the list says.

After the store has lost its history, the first list of the new history need not be the first one
ever. So splits that were never assigned in the new history begin at *committed*, Kafka's committed
offset, if the list says *earliest* or *latest*. Otherwise records could be read twice (*earliest*)
or skipped (*latest*).

This follows Flink's `KafkaSourceEnumerator`: `getPartitionChange` and `initializePartitionSplits`,
with `newDiscoveryOffsetsInitializer` = earliest. Flink only logs missing splits.
"""

from dataclasses import replace

from lockgate.enumerator.assigning import assign
from lockgate.enumerator.model import Enumerator, FreeSplit, OwnedSplit, ReaderId
from lockgate.enumerator.work import Work
from lockgate.flink.splits import COMMITTED_OFFSET, EARLIEST_OFFSET, LATEST_OFFSET, KafkaPartitionSplit
from lockgate.group.group import tick
from lockgate.steps import Steps, for_each
from lockgate.wire.split_events import DiscoveredSplits, SplitList

BEGINNING_OR_END = (EARLIEST_OFFSET, LATEST_OFFSET)


def take_list(work: Work, found: DiscoveredSplits | SplitList, by: int | None) -> Steps[None]:
    """Record `found`, the list of all splits, which the subtask `by` has sent. If `by` is None, an
    operator has set the list.
    """
    named = {split.split_id: split for split in found.splits}
    known = set(work.free) | set(work.finished)
    for reader in work.readers:
        known.update(work.held(reader))
    now = work.now
    never_given = [id for id, free in work.free.items() if not free.number and id not in named]
    yield from for_each(never_given, work.take_free)
    known.difference_update(never_given)
    new = [(FreeSplit(split=_started(split, now)), id) for id, split in named.items() if id not in known]
    yield from for_each(new, lambda each: work.put_free(*each))
    work.set(
        missing=frozenset(known - set(work.finished) - set(named)),
        bounded=found.bounded,
        static=now.static or by is None,
        listed=True,
        discovered_at=tick(_last_list(now), work.now_ms),
        discoverer=by,
    )


def with_static_list(enumerator: Enumerator, found: SplitList, now_ms: int) -> Steps[Enumerator]:
    """Return the enumerator with an operator's list, which ends discovery. Assign free splits."""
    work = Work(enumerator, now_ms)
    yield from take_list(work, found, None)
    yield from assign(work)
    return (yield from work.result())


def request_to(enumerator: Enumerator, reader: ReaderId, now_ms: int) -> int | None:
    """Return the previous list's number if this reader has to list the splits now, or None."""
    if enumerator.static:
        return None
    living = enumerator.newest()
    able = [
        subtask
        for subtask, epoch in living.items()
        if enumerator.readers[subtask, epoch].discovery_interval_ms is not None
    ]
    if living.get(reader[0]) != reader[1] or min(able, default=None) != reader[0]:
        return None
    interval, last = enumerator.readers[reader].discovery_interval_ms, enumerator.discovered_at
    is_due = last is None or not enumerator.listed or (interval and now_ms - last >= interval)
    return _last_list(enumerator) if is_due else None


def lose_beginnings(work: Work, *, unassigned: bool = False) -> Steps[None]:
    """Let splits that start at the beginning or the end start at the committed offset.

    This is for a store that has lost its history. If `unassigned` is true, nothing was assigned in
    that history. A free split then keeps a position that a reader's claim has recorded (`claims`).
    """

    def lose(one: tuple[str, FreeSplit]) -> None:
        id, free = one
        left_behind = not free.number and free.last is not None
        if free.split.starting_offset in BEGINNING_OR_END and not (unassigned and left_behind):
            work.put_free(replace(free, split=_at(free.split, COMMITTED_OFFSET)), id)

    def lose_held(one: tuple[ReaderId, str, OwnedSplit]) -> None:
        reader, id, held = one
        if held.split.starting_offset in BEGINNING_OR_END:
            work.hold(reader, replace(held, split=_at(held.split, COMMITTED_OFFSET)), id)

    yield from for_each(list(work.free.items()), lose)
    held = [(reader, *item) for reader in work.readers for item in work.held(reader).items()]
    yield from for_each(held, lose_held)


def _started(split: KafkaPartitionSplit, now: Enumerator) -> KafkaPartitionSplit:
    if now.listed:
        return _at(split, EARLIEST_OFFSET) if split.starting_offset < 0 else split
    begins_over = now.lost_history and split.starting_offset in BEGINNING_OR_END
    return _at(split, COMMITTED_OFFSET) if begins_over else split


def _last_list(now: Enumerator) -> int:
    """Return the time (ms) of the last list, which is also the number of that list. If no list has
    come in this history, return `began_at`.
    """
    return now.began_at if now.discovered_at is None else now.discovered_at


def _at(split: KafkaPartitionSplit, offset: int) -> KafkaPartitionSplit:
    return KafkaPartitionSplit(split.topic, split.partition, offset, split.raw_stopping_offset)
