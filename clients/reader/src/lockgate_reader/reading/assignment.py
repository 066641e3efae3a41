"""The splits of one reader. They are opened and closed by the orders of the reader's `Place`, or by
Kafka's own consumer group, and get the fetched messages.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count
from typing import Any

from lockgate.flink.elements import NO_TIMESTAMP
from lockgate.flink.splits import COMMITTED_OFFSET, LATEST_OFFSET, NO_STOPPING_OFFSET, KafkaPartitionSplit
from lockgate_http.errors import KafkaFailed
from lockgate_reader.clock import wall_clock_ms
from lockgate_reader.config import STARTS, Options
from lockgate_reader.kafka import KafkaClient, runs_of, timestamps
from lockgate_reader.place import AssignedSplit, Key, Orders, Place, ReaderSplit, ReaderState
from lockgate_reader.reading.split import FetchedRecords, OpenSplit

log = logging.getLogger("lockgate")


class Assignment:
    """The splits of one reader.

    `has_more_to_say` is set if splits were opened or given back since the `Place` last got the
    reader's state. `lost` has the splits whose next offset Kafka does not have, and the offset.
    `fetched` counts all records, and `left_out` those without a credible event time.
    """

    def __init__(self, options: Options, client: KafkaClient, place: Place) -> None:
        self._options, self._client, self._place = options, client, place
        self.splits: dict[Key, OpenSplit] = {}
        self.lost: list[tuple[OpenSplit, int]] = []
        self.fetched = self.left_out = 0
        self.has_more_to_say = self._no_more_splits = False
        self._topic = options.topics[0] if len(options.topics) == 1 else None
        self._returned: dict[Key, OpenSplit] = {}  # given back, but still assigned to this reader
        self._finished: dict[Key, OpenSplit] = {}  # read to the stopping offset
        self._discovered: tuple[KafkaPartitionSplit, ...] | None = None
        self._discovery = 0
        self._numbers = count(1)

    @property
    def exhausted(self) -> bool:
        """Return whether nothing is left to read, now or later."""
        return self._no_more_splits and not self.splits

    def exchange(self, reach: int, *, idle: bool) -> Orders:
        """Pass the reader's state to the `Place`, carry out its orders, and return them."""
        orders = self._place.exchange(self.state(reach=reach, idle=idle))
        self.has_more_to_say = False
        if orders.assigned is not None:
            self._obey(orders.assigned, orders.give_back)
        if orders.discover != self._discovery:
            self._discover(orders.discover)
        self._no_more_splits = self._no_more_splits or orders.no_more_splits
        return orders

    def state(self, **others: Any) -> ReaderState:
        """Return the reader's state: its splits, and the `others`."""
        returned, finished = (tuple(map(OpenSplit.held, each.values())) for each in (self._returned, self._finished))
        return ReaderState(
            held=tuple(self.held()), returned=returned, finished=finished, discovered=self._discovered, **others
        )

    def held(self) -> list[ReaderSplit]:
        return [split.held() for split in list(self.splits.values())]

    def rests(self) -> list[KafkaPartitionSplit]:
        """Return the rest of each split that is open, being given back, or read to its end."""
        return [split.rest() for split in (self._finished | self._returned | self.splits).values()]

    def positions(self) -> dict[Key, int]:
        """Return the offset of the next record of each split in `rests`."""
        return {_key(split): split.starting_offset for split in self.rests()}

    def kafka_assigned(self, keys: Sequence[Key]) -> None:
        """Open partitions that Kafka's group has assigned. Their numbers are no fencing tokens."""
        self._open([AssignedSplit(KafkaPartitionSplit(*key, COMMITTED_OFFSET), next(self._numbers)) for key in keys])

    def kafka_revoked(self, keys: Sequence[Key], *, lost: bool) -> None:
        """Close partitions that Kafka's group revokes, or that others may already read (`lost`)."""
        splits = [self.splits[key] for key in keys if key in self.splits]
        if lost:
            self._drop(splits)
        else:
            self._give_back(splits)
            self._returned.clear()

    def finish(self, split: OpenSplit) -> None:
        """Close a split that was read to its stopping offset."""
        if split.open:
            self._finished[split.key] = split
            self._close([split])

    def go_back(self, positions: Mapping[Key, int]) -> None:
        """Move splits back to `positions`, because the program did not process later records."""
        for key, position in positions.items():
            if key in self._finished:
                self._returned[key] = self._finished.pop(key)
            if (split := self.splits.get(key) or self._returned.get(key)) is not None:
                split.go_to(position)

    def hand_back(self, positions: Mapping[Key, int]) -> None:
        """Give splits back at `positions`, because the lease ended before the program went on."""
        self.go_back(positions)
        self._give_back([self.splits[key] for key in positions if key in self.splits])

    def take(self, messages: list[Any]) -> list[OpenSplit]:
        """Give each split its messages, and return the splits that changed."""
        if not messages:
            return []
        if (event_time := self._options.event_time) is None:
            times = timestamps(messages)  # -1 for an error, too
        elif any(message.error() is not None for message in messages):
            return self._take_errors(messages)
        else:
            times = [NO_TIMESTAMP if time is None else int(time) for time in map(event_time, messages)]
        now, changed = wall_clock_ms(), []
        runs = [
            (key, FetchedRecords(messages[start:end], times[start:end], now))
            for key, start, end in runs_of(messages, self._topic)
        ]
        if any(run.left_out for _, run in runs) and any(message.error() is not None for message in messages):
            return self._take_errors(messages)
        for key, run in runs:
            split = self.splits.get(key)
            if split is not None:  # else it was given back a moment ago
                changed.append(split)
                if (records := split.take(run)) is not None:
                    self.fetched += len(records.messages)
                    self.left_out += records.left_out
        return changed

    def _take_errors(self, messages: list[Any]) -> list[OpenSplit]:
        changed = self.take([message for message in messages if message.error() is None])
        for message in (message for message in messages if message.error() is not None):
            is_lost, split = self._client.is_lost(message), self.splits.get((message.topic(), message.partition()))
            if split is None or message.offset() is None:
                continue
            if is_lost:
                self.lost.append((split, message.offset()))
            else:
                split.end = max(split.end, message.offset())
                changed.append(split)
        return changed

    def _obey(self, assigned: Sequence[AssignedSplit], give_back: frozenset[str]) -> None:
        numbers = {_key(each.split): each.number for each in assigned}

        def own(splits: Mapping[Key, OpenSplit]) -> dict[Key, OpenSplit]:
            return {key: split for key, split in splits.items() if numbers.get(key) == split.number}

        self._returned = own(self._returned)
        self._drop([split for key, split in self.splits.items() if numbers.get(key) != split.number])
        self._give_back([split for split in self.splits.values() if split.name in give_back])
        here = own(self._finished) | self._returned | self.splits
        new = [each for each in assigned if _key(each.split) not in here]
        for each in new:
            if each.split.split_id in give_back:  # before it was opened
                stop = each.split.stopping_offset
                split = OpenSplit(each, each.split.starting_offset, stop, self._options.strategy)
                split.watermark.idle = True
                self._returned[split.key] = split
                self.has_more_to_say = True
        self._open([each for each in new if each.split.split_id not in give_back])

    def _drop(self, splits: Iterable[OpenSplit]) -> None:
        for split in splits:
            log.warning("stopped reading partition %s, because it is now assigned to another reader", split.name)
        self._close(splits)

    def _give_back(self, splits: Sequence[OpenSplit]) -> None:
        if not splits:
            return
        if self._options.on_revoked is not None:
            self._options.on_revoked([split.held() for split in splits])
        self._returned |= {split.key: split for split in splits}
        self._close(splits)
        self.has_more_to_say = True

    def _open(self, assigned: Sequence[AssignedSplit]) -> None:
        if not assigned:
            return
        starts = {_key(each.split): each.split.starting_offset for each in assigned}
        if self._options.on_assigned is not None:
            own = self._options.on_assigned(assigned) or {}
            starts |= {key: at for key, at in own.items() if key in starts}
        starts = self._client.resolved(starts)  # EARLIEST_OFFSET is left, which Kafka's client has as well
        ends = {_key(each.split): stop for each in assigned if (stop := each.split.stopping_offset) is not None}
        stops, finished = self._client.resolved(ends), list[OpenSplit]()
        for each in assigned:
            key = _key(each.split)
            split = self.splits[key] = OpenSplit(each, starts[key], stops.get(key), self._options.strategy)
            self._finished.pop(key, None)
            if ends.get(key) == LATEST_OFFSET and split.position > stops[key]:
                self.lost.append((split, split.position))
            elif split.finished:
                finished.append(split)
        self._client.assign(starts)
        for split in finished:
            self.finish(split)
        self.has_more_to_say = True

    def _close(self, splits: Iterable[OpenSplit]) -> None:
        for split in splits:
            split.open = False
            del self.splits[split.key]
        self._client.unassign([split.key for split in splits])

    def _discover(self, number: int) -> None:
        try:
            self._discovered = self._listed()
        except KafkaFailed as error:  # a fetch fails as well if this does not pass
            if self._discovered is None:
                raise
            log.warning("%s; looking for new partitions again later", error)
            self._discovered = tuple(map(replace, self._discovered))  # a new tuple: the answer to this request
        self._discovery = number

    def _listed(self) -> tuple[KafkaPartitionSplit, ...]:
        """Return all splits of the topics. The first list has partitions without a leader, too: if
        it lacked them, they would count as new later, and start at their first record.
        """
        keys = self._client.partitions(self._options.topics, led=self._discovered is not None)
        stop = NO_STOPPING_OFFSET if self._options.ending_offsets is None else LATEST_OFFSET
        start = self._options.starting_offsets
        if isinstance(start, datetime):
            start = self._client.offsets_at(keys, max(0, round(start.timestamp() * 1000)))
        starts = dict.fromkeys(keys, STARTS[start]) if isinstance(start, str) else start
        return tuple(KafkaPartitionSplit(*key, starts.get(key, COMMITTED_OFFSET), stop) for key in keys)


def _key(split: KafkaPartitionSplit) -> Key:
    return split.topic, split.partition
