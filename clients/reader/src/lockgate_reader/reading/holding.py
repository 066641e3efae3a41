"""Which splits the reader holds, as its place orders: opened, drained, given back, finished.

The orders are a level (`lockgate_reader.place`). Each exchange compares them with what is held, and
carries the difference out.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from lockgate.flink.source.operator import SourceOperator
from lockgate.flink.source.operator_events import (
    AddSplitEvent,
    IsProcessingBacklogEvent,
    NoMoreSplitsEvent,
    SourceEventWrapper,
)
from lockgate.flink.split_serializer import KafkaPartitionSplitSerializer
from lockgate.flink.splits import (
    COMMITTED_OFFSET,
    EARLIEST_OFFSET,
    LATEST_OFFSET,
    NO_STOPPING_OFFSET,
    KafkaPartitionSplit,
)
from lockgate_reader.config import Options
from lockgate_reader.kafka.client import KafkaClient, Unanswered
from lockgate_reader.place import AssignedSplit, Orders, Place, ReaderSplit, ReaderState
from lockgate_reader.reading.ends import Ends
from lockgate_reader.reading.next_record import SplitStrategy
from lockgate_reader.reading.queue import SplitQueue
from lockgate_reader.reading.source_reader import KafkaSplitReader
from lockgate_reader.reading.split import Key, OpenSplit

log = logging.getLogger("lockgate")


@dataclass(frozen=True, slots=True)
class Callbacks:
    """What the program wants to know. `assigned` may return positions of the program's own, by
    topic and partition. `revoked` is called before a split is given back: time to commit.
    """

    assigned: Callable[[Sequence[AssignedSplit]], Mapping[Key, int] | None] | None = None
    revoked: Callable[[Sequence[ReaderSplit]], None] | None = None
    source_event: Callable[[object], None] | None = None


class Holding:
    """The splits of one reader. `attach` comes before all else. `has_more_to_say`: the last orders
    have changed what is held, and the place does not know yet. `lost`: gets splits that begin
    behind the end of their log, each with that offset.
    """

    def __init__(
        self,
        options: Options,
        client: KafkaClient,
        place: Place,
        queue: SplitQueue,
        strategy: SplitStrategy,
        ends: Ends,
        callbacks: Callbacks,
        lost: list[tuple[OpenSplit, int]],
    ) -> None:
        self._options, self._client, self._place = options, client, place
        self._queue, self._strategy, self._ends, self._callbacks = queue, strategy, ends, callbacks
        self._lost = lost
        self.by_key: dict[Key, OpenSplit] = {}
        self.last_positions: dict[Key, int] = {}
        self.read_out: dict[str, KafkaPartitionSplit] = {}  # to their stopping offset
        self.source_events: list[object] = []
        self.has_more_to_say = False
        self._returned: dict[str, ReaderSplit] = {}
        self._finished: dict[str, ReaderSplit] = {}
        self._opening: dict[str, AssignedSplit] = {}
        self._discovered: tuple[KafkaPartitionSplit, ...] | None = None
        self._discovery = 0
        self._backlog: bool | None = None

    def attach(
        self,
        operator: SourceOperator[KafkaPartitionSplit],
        reader: KafkaSplitReader,
        position: Callable[[OpenSplit], int],
    ) -> None:
        """Set the operator, which is created after this object."""
        self._operator, self._reader, self._position = operator, reader, position

    # -- the place --

    def exchange(self) -> Orders:
        """Exchanges with the place, and carries the orders out."""
        orders = self._place.exchange(self.state())
        self.source_events.clear()
        self.has_more_to_say = False
        if orders.assigned is not None:
            self._obey(orders.assigned, orders.give_back)
        if orders.discover != self._discovery:
            self._discover(orders.discover)
        if orders.no_more_splits and not self._reader.no_more_splits:
            self._operator.handle_event(NoMoreSplitsEvent())
        if orders.backlog is not None and orders.backlog is not self._backlog:
            self._backlog = orders.backlog
            self._operator.handle_event(IsProcessingBacklogEvent(orders.backlog))
        for event in orders.source_events:
            self._operator.handle_event(SourceEventWrapper(event))
        return orders

    def state(self, *, ended: bool = False) -> ReaderState:
        """Return the reader's whole state."""
        splits = self._reader.splits.values()
        watermark = self._operator.watermark.latest
        return ReaderState(
            watermark=watermark,
            reach=reach(list(splits), self._ends.is_silent, watermark),
            idle=self._operator.idle or self._all_silent(),
            ended=ended,
            held=self.held,
            returned=tuple(self._returned.values()),
            finished=tuple(self._finished.values()),
            discovered=self._discovered,
            wants_splits=not splits,
            source_events=tuple(self.source_events),
        )

    def held(self) -> list[ReaderSplit]:
        """Return the splits that the reader has."""
        return [self.held_split(split) for split in list(self._reader.splits.values())]

    def held_split(self, split: OpenSplit) -> ReaderSplit:
        """One split as its place and `status` see it."""
        alignment = self._operator.splits
        watermark = alignment.samplers[split.name].latest
        return split.held(self._position(split), watermark, split.name in alignment.idle)

    # -- splits --

    def opened(self, splits: Sequence[KafkaPartitionSplit]) -> None:
        """Open splits that the operator has added, each at its start."""
        assigned = [self._opening[split.split_id] for split in splits]
        starts = self._starts(assigned)
        stops = self._stops(splits)
        generators = self._strategy.newest(len(splits))
        for split, each, generator in zip(splits, assigned, generators, strict=True):
            key = (split.topic, split.partition)
            opened = OpenSplit(split, each.number, starts[key], stops[key])
            generator.silent = self._silence_of(opened)
            generator.lets_go = self._options.strategy is not None  # else its horizon does
            self._reader.splits[opened.name] = self.by_key[key] = opened
            self.last_positions.pop(key, None)
            if split.stopping_offset == LATEST_OFFSET and opened.position > (opened.stop or 0):
                self._lost.append((opened, opened.position))
        self._client.assign(starts)
        lost = {split.name for split, _ in self._lost}
        for done in [each for each in self.by_key.values() if each.name in self._opening and each.finished]:
            if done.name not in lost:
                self.finish(done)

    def finish(self, split: OpenSplit) -> None:
        """Finish a split that was read to its stopping offset."""
        if self._reader.splits.get(split.name) is split:
            held = self._finished[split.name] = self.held_split(split)
            self.read_out[split.name] = held.split
            self._close(split)

    def go_back(self, key: Key, position: int) -> None:
        """Move a split back to `position`, since its records from there on were not worked on.

        Only before the end: nothing more of the split may go out.
        """
        split, name = self.by_key.get(key), f"{key[0]}-{key[1]}"
        if split is not None:
            split.position = position
        elif name in self._finished:
            held = self._finished.pop(name)
            split_left = self.read_out[name] = replace(held.split, starting_offset=position)
            self._returned[name] = replace(held, split=split_left)
            self.last_positions[key] = position

    def hand_back(self, positions: Mapping[Key, int]) -> None:
        """Give back these splits from these offsets on, since the lease ended before their records
        went out.
        """
        for key, position in positions.items():
            self.go_back(key, position)
        self._give_back([self.by_key[key] for key in positions if key in self.by_key])

    def source_event(self, event: object) -> None:
        """Pass an event of the enumerator on to the program."""
        if self._callbacks.source_event is not None:
            self._callbacks.source_event(event)

    # -- within --

    def _obey(self, assigned: Sequence[AssignedSplit], give_back: frozenset[str]) -> None:
        named = {each.split.split_id: each for each in assigned}
        for done in (self._returned, self._finished):
            for name in [name for name, held in done.items() if name not in named or named[name].number != held.number]:
                if name not in give_back or done is self._finished or name not in named:
                    held = done.pop(name)
                    if done is self._returned:
                        self.last_positions.pop(_key(held.split), None)
        for split in list(self._reader.splits.values()):
            order = named.get(split.name)
            if order is None or order.number != split.number:
                log.warning("stopped reading partition %s, because it is now assigned to another reader", split.name)
                self._close(split)
                del self.last_positions[split.key]
        self._give_back([split for split in self._reader.splits.values() if split.name in give_back])
        self._add([each for name, each in named.items() if self._is_new(name, give_back)])

    def _is_new(self, name: str, give_back: frozenset[str]) -> bool:
        return not (
            name in self._reader.splits or name in self._returned or name in self._finished or name in give_back
        )

    def _give_back(self, splits: Sequence[OpenSplit]) -> None:
        if not splits:
            return
        held = [self.held_split(split) for split in splits]
        if self._callbacks.revoked is not None:
            self._callbacks.revoked(held)
        for split, each in zip(splits, held, strict=True):
            self._returned[split.name] = each
            self._close(split)
        self.has_more_to_say = True

    def _add(self, assigned: Sequence[AssignedSplit]) -> None:
        if assigned:
            self._opening = {each.split.split_id: each for each in assigned}
            splits = [each.split for each in assigned]
            self._operator.handle_event(AddSplitEvent.of(splits, KafkaPartitionSplitSerializer()))
            self._opening = {}
            self.has_more_to_say = True

    def _close(self, split: OpenSplit) -> None:
        self.last_positions[split.key] = self._position(split)
        self._queue.remove(split)
        del self.by_key[split.key]
        self._client.unassign([split.key])
        self._reader.release(split)

    def _discover(self, number: int) -> None:
        """List the splits. If a later list does not come, the last one stays."""
        try:
            self._discovered = self._listed()
        except Unanswered as error:
            if self._discovered is None:
                raise
            log.warning("%s; looking for new partitions again later", error)
            self._discovered = tuple(map(replace, self._discovered))  # another list, as an answer to this request
        self._discovery = number

    def _listed(self) -> tuple[KafkaPartitionSplit, ...]:
        """Return the list of splits.

        The first list is complete, since a split that it lacks would be new later, and begin at its
        first record. A later list leaves out partitions that have no leader yet.
        """
        stop = NO_STOPPING_OFFSET if self._options.ending_offsets is None else LATEST_OFFSET
        keys = self._client.partitions(self._options.topics, led=self._discovered is not None)
        at = self._options.start_ms
        starts = self._options.start_offsets if at is None else self._client.offsets_at(keys, at)
        return tuple(KafkaPartitionSplit(*key, starts.get(key, EARLIEST_OFFSET), stop) for key in keys)

    def _starts(self, assigned: Sequence[AssignedSplit]) -> dict[Key, int]:
        splits = [each.split for each in assigned]
        own = self._callbacks.assigned(assigned) if self._callbacks.assigned is not None else None
        found = {key: at for key, at in (own or {}).items() if key in {(s.topic, s.partition) for s in splits}}
        left = [split for split in splits if (split.topic, split.partition) not in found]
        found.update({_key(split): split.starting_offset for split in left if split.starting_offset >= 0})
        # Kafka's client has the same word for the beginning; the end has to be one offset from now
        # on.
        found.update(dict.fromkeys(_keys(left, EARLIEST_OFFSET), EARLIEST_OFFSET))
        found.update(self._client.offsets(_keys(left, LATEST_OFFSET), latest=True))
        committed = _keys(left, COMMITTED_OFFSET)
        if committed:
            there = self._client.committed(committed)
            found.update(there)
            missing = [key for key in committed if key not in there]
            found.update(self._client.reset_offsets(missing))
        return found

    def _stops(self, splits: Sequence[KafkaPartitionSplit]) -> dict[Key, int | None]:
        stops: dict[Key, int | None] = {_key(split): split.stopping_offset for split in splits}
        latest = [key for key, stop in stops.items() if stop == LATEST_OFFSET]
        stops.update(self._client.offsets(latest, latest=True))
        return stops

    def _silence_of(self, split: OpenSplit) -> Callable[[], bool]:
        return lambda: self._ends.is_silent(split)

    def _all_silent(self) -> bool:
        late = self._options.idle_timeout_ms
        splits = self._reader.splits.values()
        return late is not None and bool(splits) and all(self._ends.silent_ms(split) > late for split in splits)


def reach(splits: Sequence[OpenSplit], is_silent: Callable[[OpenSplit], bool], watermark: int) -> int:
    """Up to where the records of all splits were fetched: the lowest over the splits, of the
    highest event time that was fetched. A split that is read to its end does not count. At least
    `watermark`.
    """
    highest = [
        max((records.highest for records in split.fetched), default=watermark)
        for split in splits
        if split.fetched or not is_silent(split)
    ]
    return max(watermark, min(highest, default=watermark))


def _key(split: KafkaPartitionSplit) -> Key:
    return split.topic, split.partition


def _keys(splits: Sequence[KafkaPartitionSplit], word: int) -> list[Key]:
    return [_key(split) for split in splits if split.starting_offset == word]
