"""The splits of one reader, which are opened and closed as the reader's `Place` orders.

Orders contain all splits that the reader should have (`lockgate_reader.place`). They are compared
with the splits that the reader has, and the differences are carried out.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lockgate.flink.splits import (
    COMMITTED_OFFSET,
    EARLIEST_OFFSET,
    LATEST_OFFSET,
    NO_STOPPING_OFFSET,
    KafkaPartitionSplit,
)
from lockgate_reader.config import Options
from lockgate_reader.kafka.client import KafkaClient
from lockgate_reader.kafka.logs import Unanswered
from lockgate_reader.place import AssignedSplit, Key, Orders, Place, ReaderSplit, ReaderState
from lockgate_reader.reading.from_kafka import FromKafka
from lockgate_reader.reading.split import OpenSplit
from lockgate_reader.reading.watermarks import SplitWatermark

log = logging.getLogger("lockgate")


class Assignment:
    """The splits of one reader, with the read limit `limit` (ms).

    `has_more_to_say` is set if splits were opened or given back since the `Place` last got the
    reader's state. `events_in` has source events for the program, and `events_out` those that the
    program has sent. `read_out` has the splits that were read to their stopping offset.
    """

    def __init__(self, options: Options, client: KafkaClient, place: Place) -> None:
        self._options, self._client, self._place = options, client, place
        self.from_kafka = FromKafka()
        self.splits: dict[Key, OpenSplit] = {}
        self.last_positions: dict[Key, int] = {}
        self.read_out: dict[str, KafkaPartitionSplit] = {}
        self.lost: list[tuple[OpenSplit, int]] = []  # splits that begin behind the end of their log
        self.events_in: list[object] = []
        self.events_out: list[object] = []
        self.limit = 0
        self.has_more_to_say = self._no_more_splits = False
        self._returned: dict[str, ReaderSplit] = {}
        self._finished: dict[str, ReaderSplit] = {}
        self._discovered: tuple[KafkaPartitionSplit, ...] | None = None
        self._discovery = 0

    @property
    def exhausted(self) -> bool:
        """Return whether nothing is left to read, now or later."""
        return self._no_more_splits and not self.splits

    # -- the place --

    def exchange(self, state: ReaderState) -> Orders:
        """Add the splits to `state`, pass it to the reader's `Place`, carry out the orders that the
        place returns, and return the orders.
        """
        orders = self._place.exchange(self.state(state))
        if self._client.subscribed:
            orders = self.from_kafka.orders(orders)
        self.events_out.clear()
        self.events_in += orders.source_events
        self.has_more_to_say = False
        if orders.assigned is not None:
            self._obey(orders.assigned, orders.give_back)
        if orders.discover != self._discovery:
            self._discover(orders.discover)
        self._no_more_splits = self._no_more_splits or orders.no_more_splits
        return orders

    def state(self, state: ReaderState) -> ReaderState:
        """Return the reader's whole state: a copy of `state` with the splits and source events
        added.
        """
        return replace(
            state,
            held=tuple(self.held()),
            returned=tuple(self._returned.values()),
            finished=tuple(self._finished.values()),
            discovered=self._discovered,
            source_events=tuple(self.events_out),
        )

    def held(self) -> list[ReaderSplit]:
        """Return the open splits, with their positions and watermarks."""
        return [split.held(self.limit) for split in list(self.splits.values())]

    def positions(self) -> dict[Key, int]:
        """Return the next offset of each split that is open, finished or still being given back."""
        return {**self.last_positions, **{split.key: split.position for split in self.splits.values()}}

    # -- splits --

    def finish(self, split: OpenSplit) -> None:
        """Close a split that was read to its stopping offset, and list it as finished."""
        if split.open:
            held = self._finished[split.name] = split.held(self.limit)
            self.read_out[split.name] = held.split
            self._close([split])

    def go_back(self, key: Key, position: int) -> None:
        """Move a split back to `position`, because the program did not process later records. A
        split that was finished is given back at that position.
        """
        split, name = self.splits.get(key), f"{key[0]}-{key[1]}"
        if split is not None:
            split.go_to(position)
        elif name in self._finished:
            held = self._finished.pop(name)
            split_left = self.read_out[name] = replace(held.split, starting_offset=position)
            self._returned[name] = replace(held, split=split_left)
            self.last_positions[key] = position

    def hand_back(self, positions: Mapping[Key, int]) -> None:
        """Give splits back at `positions`, because the lease ended before later records were
        returned.
        """
        for key, position in positions.items():
            self.go_back(key, position)
        self._give_back([self.splits[key] for key in positions if key in self.splits])

    # -- within --

    def _obey(self, assigned: Sequence[AssignedSplit], give_back: frozenset[str]) -> None:
        named = {each.split.split_id: each for each in assigned}
        for done in (self._returned, self._finished):
            for name in [name for name, held in done.items() if name not in named or named[name].number != held.number]:
                if name not in give_back or done is self._finished or name not in named:
                    held = done.pop(name)
                    if done is self._returned:
                        self.last_positions.pop(_key(held.split), None)
        gone = []
        for split in self.splits.values():
            order = named.get(split.name)
            if order is None or order.number != split.number:
                log.warning("stopped reading partition %s, because it is now assigned to another reader", split.name)
                gone.append(split)
        self._close(gone)
        for split in gone:
            del self.last_positions[split.key]
        self._give_back([split for split in self.splits.values() if split.name in give_back])
        self._open([each for name, each in named.items() if self._is_new(each) and name not in give_back])

    def _is_new(self, each: AssignedSplit) -> bool:
        name = each.split.split_id
        return not (_key(each.split) in self.splits or name in self._returned or name in self._finished)

    def _give_back(self, splits: Sequence[OpenSplit]) -> None:
        if not splits:
            return
        held = [split.held(self.limit) for split in splits]
        if self._options.on_revoked is not None:
            self._options.on_revoked(held)
        self._returned.update({split.name: each for split, each in zip(splits, held, strict=True)})
        self._close(splits)
        self.has_more_to_say = True

    def _open(self, assigned: Sequence[AssignedSplit]) -> None:
        """Open the assigned splits, each at its starting offset, and start to fetch them."""
        if not assigned:
            return
        starts, stops = self._starts(assigned), self._stops([each.split for each in assigned])
        opened = []
        for each in assigned:
            key = _key(each.split)
            watermark = SplitWatermark(self._options.strategy)
            split = OpenSplit(each.split, each.number, starts[key], stops[key], watermark)
            self.splits[key] = split
            self.last_positions.pop(key, None)
            opened.append(split)
            if each.split.stopping_offset == LATEST_OFFSET and split.position > (split.stop or 0):
                self.lost.append((split, split.position))
        self._client.assign(starts)
        lost = {split.name for split, _ in self.lost}
        for split in opened:
            if split.finished and split.name not in lost:
                self.finish(split)
        self.has_more_to_say = True

    def _close(self, splits: Sequence[OpenSplit]) -> None:
        for split in splits:
            self.last_positions[split.key] = split.position
            split.open = False
            del self.splits[split.key]
        self._client.unassign([split.key for split in splits])

    def _discover(self, number: int) -> None:
        """List the splits of the topics, as the request `number` asks. If Kafka does not answer,
        use the last list again, or raise `Unanswered` if there is none.
        """
        try:
            self._discovered = self._listed()
        except Unanswered as error:
            if self._discovered is None:
                raise
            log.warning("%s; looking for new partitions again later", error)
            self._discovered = tuple(map(replace, self._discovered))  # another list, as an answer to this request
        self._discovery = number

    def _listed(self) -> tuple[KafkaPartitionSplit, ...]:
        """Return all splits of the topics. Partitions without a leader are included in the first
        list only: if they were missing there, they would count as new later, and start at their
        first record.
        """
        stop = NO_STOPPING_OFFSET if self._options.ending_offsets is None else LATEST_OFFSET
        keys = self._client.logs.partitions(self._options.topics, led=self._discovered is not None)
        at = self._options.start_ms
        starts = self._options.start_offsets if at is None else self._client.logs.offsets_at(keys, at)
        return tuple(KafkaPartitionSplit(*key, starts.get(key, self._options.start), stop) for key in keys)

    def _starts(self, assigned: Sequence[AssignedSplit]) -> dict[Key, int]:
        splits = [each.split for each in assigned]
        own = None if self._options.on_assigned is None else self._options.on_assigned(assigned)
        found = {key: at for key, at in (own or {}).items() if key in {_key(split) for split in splits}}
        left = [split for split in splits if _key(split) not in found]
        found.update({_key(split): split.starting_offset for split in left if split.starting_offset >= 0})
        # Kafka's client has the same constant for the beginning. The end is resolved to an offset
        # now.
        found.update(dict.fromkeys(_keys(left, EARLIEST_OFFSET), EARLIEST_OFFSET))
        found.update(self._client.logs.offsets(_keys(left, LATEST_OFFSET), latest=True))
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
        stops.update(self._client.logs.offsets(latest, latest=True))
        return stops


def _key(split: KafkaPartitionSplit) -> Key:
    return split.topic, split.partition


def _keys(splits: Sequence[KafkaPartitionSplit], word: int) -> list[Key]:
    return [_key(split) for split in splits if split.starting_offset == word]
