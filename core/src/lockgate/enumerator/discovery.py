"""Discovery: the list of a source's splits, by the reader that is asked for it or by an operator.

The rule. The coordinator knows no Kafka. The living reader with the lowest subtask that can
discover is asked, at once and then after each interval of its own. The list is whole, so it shows
three kinds of splits:

* *New* ones. Those of the first list begin where the list says. Of a later list an offset counts,
  and a word becomes *earliest*: the split has appeared since, so all of it is unread.
* *Missing* ones, which the list no longer names. A reader keeps its own, and no other gets them.
  The next list that names them makes them splits like any other.
* Known ones. They keep their position, whatever the list says.

After a loss of the store's history the first list may be anything but the first. Splits that were
never assigned in the new history begin at *committed*, where the list has a word for the beginning
or the end: that of Kafka's committed offset, and so never at the beginning unasked.

Follows Flink's `KafkaSourceEnumerator`: `getPartitionChange` and `initializePartitionSplits`, with
`newDiscoveryOffsetsInitializer` = earliest. There missing splits are only logged, and a coordinator
that lost its state cannot go on. Used by `exchange`, and by the coordinator for a static list.
"""

from dataclasses import replace

from lockgate.enumerator.assigning import assign
from lockgate.enumerator.model import Enumerator, FreeSplit, ReaderId
from lockgate.enumerator.work import Work
from lockgate.flink.splits import COMMITTED_OFFSET, EARLIEST_OFFSET, LATEST_OFFSET, KafkaPartitionSplit
from lockgate.steps import Steps, for_each
from lockgate.wire.split_events import DiscoveredSplits

BEGINNING_OR_END = (EARLIEST_OFFSET, LATEST_OFFSET)


def take_list(work: Work, found: DiscoveredSplits, by: int | None) -> Steps[None]:
    """Takes the whole list of the source's splits, from the reader `by`; None: from an operator."""
    named = {split.split_id: split for split in found.splits}
    known = set(work.free) | set(work.finished)
    for reader in work.readers:
        known.update(work.held(reader))
    now = work.now
    new = [(FreeSplit(split=_started(split, now)), id) for id, split in named.items() if id not in known]
    yield from for_each(new, lambda each: work.put_free(*each))
    work.set(
        missing=frozenset(known - set(work.finished) - set(named)),
        bounded=found.bounded,
        static=now.static or by is None,
        listed=True,
        lost_history=now.lost_history and work.now_ms < now.assigning_at,
        discovered_at=work.now_ms,
        discoverer=by,
    )


def with_static_list(enumerator: Enumerator, found: DiscoveredSplits, now_ms: int) -> Steps[Enumerator]:
    """The enumerator with an operator's list, which ends discovery."""
    work = Work(enumerator, now_ms)
    yield from take_list(work, found, None)
    yield from assign(work)
    return (yield from work.result())


def is_asked(enumerator: Enumerator, reader: ReaderId, now_ms: int) -> bool:
    """Whether this reader is to list the splits now."""
    if enumerator.static:
        return False
    living = enumerator.newest()
    able = [
        subtask
        for subtask, epoch in living.items()
        if enumerator.readers[subtask, epoch].discovery_interval_ms is not None
    ]
    if living.get(reader[0]) != reader[1] or min(able, default=None) != reader[0]:
        return False
    interval = enumerator.readers[reader].discovery_interval_ms
    if enumerator.discovered_at is None or not enumerator.listed:
        return True
    return bool(interval) and now_ms - enumerator.discovered_at >= (interval or 0)


def lose_beginnings(work: Work) -> Steps[None]:
    """After a loss: splits that were never assigned begin at what was committed."""

    def lose(one: tuple[str, FreeSplit]) -> None:
        id, free = one
        if not free.number and free.split.starting_offset in BEGINNING_OR_END:
            work.put_free(replace(free, split=_at(free.split, COMMITTED_OFFSET)), id)

    yield from for_each(list(work.free.items()), lose)


def _started(split: KafkaPartitionSplit, now: Enumerator) -> KafkaPartitionSplit:
    if now.lost_history:
        return _at(split, COMMITTED_OFFSET) if split.starting_offset in BEGINNING_OR_END else split
    return _at(split, EARLIEST_OFFSET) if now.listed and split.starting_offset < 0 else split


def _at(split: KafkaPartitionSplit, offset: int) -> KafkaPartitionSplit:
    return KafkaPartitionSplit(split.topic, split.partition, offset, split.raw_stopping_offset)
