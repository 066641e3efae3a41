"""The splits of one reader. They are opened and closed by the orders of the reader's `Place`, and
get the fetched messages.

**Kafka's own consumer group** may assign the partitions instead. Each then starts at its committed
offset. The reader numbers the assignments itself, so the numbers are not fencing tokens.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count
from typing import Any

from lockgate.flink.elements import NO_TIMESTAMP
from lockgate.flink.splits import COMMITTED_OFFSET, LATEST_OFFSET, NO_STOPPING_OFFSET, KafkaPartitionSplit
from lockgate_reader.clock import wall_clock_ms
from lockgate_reader.config import STARTS, Options
from lockgate_reader.kafka.client import KafkaClient, runs_of, timestamps
from lockgate_reader.kafka.logs import Unanswered
from lockgate_reader.place import AssignedSplit, Key, Orders, Place, ReaderSplit, ReaderState
from lockgate_reader.reading.records import FUTURE_BOUND_MS, FetchedRecords
from lockgate_reader.reading.split import OpenSplit

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
        self._returned: dict[str, ReaderSplit] = {}  # given back, but still assigned to this reader
        self._finished: dict[str, ReaderSplit] = {}  # read to the stopping offset
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
        return ReaderState(
            held=tuple(self.held()),
            returned=tuple(self._returned.values()),
            finished=tuple(self._finished.values()),
            discovered=self._discovered,
            **others,
        )

    def held(self) -> list[ReaderSplit]:
        return [split.held() for split in list(self.splits.values())]

    def rests(self) -> list[KafkaPartitionSplit]:
        """Return the rest of each split that is open, being given back, or read to its end."""
        closed = {name: each.split for name, each in (self._finished | self._returned).items()}
        opened = {split.name: split.rest() for split in list(self.splits.values())}
        return list((closed | opened).values())

    def positions(self) -> dict[Key, int]:
        """Return the offset of the next record of each split in `rests`."""
        return {_key(split): split.starting_offset for split in self.rests()}

    def kafka_assigned(self, keys: Sequence[Key]) -> None:
        """Open partitions that Kafka's group has assigned."""
        splits = [KafkaPartitionSplit(*key, COMMITTED_OFFSET) for key in keys]
        self._open([AssignedSplit(split, next(self._numbers)) for split in splits])

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
            self._finished[split.name] = split.held()
            self._close([split])

    def go_back(self, positions: Mapping[Key, int]) -> None:
        """Move splits back to `positions`, because the program did not process later records."""
        for key, position in positions.items():
            split, name = self.splits.get(key), f"{key[0]}-{key[1]}"
            if split is not None:
                split.go_to(position)
            elif name in self._finished:
                held = self._finished.pop(name)
                self._returned[name] = replace(held, split=replace(held.split, starting_offset=position))

    def hand_back(self, positions: Mapping[Key, int]) -> None:
        """Give splits back at `positions`, because the lease ended before the program went on."""
        self.go_back(positions)
        self._give_back([self.splits[key] for key in positions if key in self.splits])

    def take(self, messages: list[Any]) -> list[OpenSplit]:
        """Give each split its messages, and return the splits that changed."""
        if not messages:
            return []
        times = timestamps(messages)  # -1 for an error, too
        ordered = sorted(times)  # faster than min() and max() if the times rise
        if ordered[0] < 0 and any(message.error() is not None for message in messages):
            return self._take_errors(messages)
        if self._options.event_time is not None:
            found = map(self._options.event_time, messages)
            times = [NO_TIMESTAMP if time is None else int(time) for time in found]
            ordered = sorted(times)
        changed = []
        for key, start, end in runs_of(messages, self._topic):
            split = self.splits.get(key)
            if split is not None:  # else it was given back a moment ago
                left, until = split.clip(messages, start, end)
                if until - left == len(messages):
                    self._keep(split, messages, times, ordered)
                elif left < until:
                    self._keep(split, messages[left:until], part := times[left:until], sorted(part))
                changed.append(split)
        return changed

    def _take_errors(self, messages: list[Any]) -> list[OpenSplit]:
        changed = self.take([message for message in messages if not self._client.is_end(message)])
        for message in messages:
            split = self.splits.get((message.topic(), message.partition()))
            if message.error() is None or split is None or message.offset() is None:
                continue
            if self._client.is_lost(message):
                self.lost.append((split, message.offset()))
            else:
                split.end = max(split.end, message.offset())
                changed.append(split)
        return changed

    def _keep(self, split: OpenSplit, messages: list[Any], times: list[int], ordered: list[int]) -> None:
        records = FetchedRecords(messages, times, ordered, wall_clock_ms() + FUTURE_BOUND_MS)
        self.left_out += records.left_out
        self.fetched += len(messages)
        split.take(records)

    def _obey(self, assigned: Sequence[AssignedSplit], give_back: frozenset[str]) -> None:
        numbers = {each.split.split_id: each.number for each in assigned}
        self._returned = {name: held for name, held in self._returned.items() if numbers.get(name) == held.number}
        finished = {name for name, held in self._finished.items() if numbers.get(name) == held.number}
        self._drop([split for split in self.splits.values() if numbers.get(split.name) != split.number])
        self._give_back([split for split in self.splits.values() if split.name in give_back])
        here = finished | self._returned.keys() | {each.name for each in self.splits.values()}
        new = {each.split.split_id: each for each in assigned if each.split.split_id not in here}
        for name in give_back & new.keys():  # before it was opened
            self._returned[name] = ReaderSplit(new[name].split, new.pop(name).number, idle=True)
            self.has_more_to_say = True
        self._open(list(new.values()))

    def _drop(self, splits: Sequence[OpenSplit]) -> None:
        for split in splits:
            log.warning("stopped reading partition %s, because it is now assigned to another reader", split.name)
        self._close(splits)

    def _give_back(self, splits: Sequence[OpenSplit]) -> None:
        if not splits:
            return
        held = [split.held() for split in splits]
        if self._options.on_revoked is not None:
            self._options.on_revoked(held)
        self._returned |= {each.split.split_id: each for each in held}
        self._close(splits)
        self.has_more_to_say = True

    def _open(self, assigned: Sequence[AssignedSplit]) -> None:
        if not assigned:
            return
        starts, opened = self._starts(assigned), list[OpenSplit]()
        stops = {_key(each.split): each.split.stopping_offset for each in assigned}
        latest = [key for key, stop in stops.items() if stop == LATEST_OFFSET]
        stops |= self._client.logs.offsets(latest, latest=True)
        for each in assigned:
            key = _key(each.split)
            split = self.splits[key] = OpenSplit(each, starts[key], stops[key], self._options.strategy)
            self._finished.pop(split.name, None)
            if key in latest and split.position > (split.stop or 0):
                self.lost.append((split, split.position))
            else:
                opened.append(split)
        self._client.assign(starts)
        for split in opened:
            if split.finished:
                self.finish(split)
        self.has_more_to_say = True

    def _close(self, splits: Sequence[OpenSplit]) -> None:
        for split in splits:
            split.open = False
            del self.splits[split.key]
        self._client.unassign([split.key for split in splits])

    def _discover(self, number: int) -> None:
        try:
            self._discovered = self._listed()
        except Unanswered as error:
            if self._discovered is None:
                raise
            log.warning("%s; looking for new partitions again later", error)
            self._discovered = tuple(map(replace, self._discovered))  # a new tuple: the answer to this request
        self._discovery = number

    def _listed(self) -> tuple[KafkaPartitionSplit, ...]:
        """Return all splits of the topics. The first list has partitions without a leader, too: if
        it lacked them, they would count as new later, and start at their first record.
        """
        keys = self._client.logs.partitions(self._options.topics, led=self._discovered is not None)
        stop = NO_STOPPING_OFFSET if self._options.ending_offsets is None else LATEST_OFFSET
        start = self._options.starting_offsets
        if isinstance(start, datetime):
            start = self._client.logs.offsets_at(keys, round(start.timestamp() * 1000))
        starts = dict.fromkeys(keys, STARTS[start]) if isinstance(start, str) else start
        return tuple(KafkaPartitionSplit(*key, starts.get(key, COMMITTED_OFFSET), stop) for key in keys)

    def _starts(self, assigned: Sequence[AssignedSplit]) -> dict[Key, int]:
        """Return the starting offset of each split, which `on_assigned` may change. Of the
        constants, only `EARLIEST_OFFSET` is left, which Kafka's client has as well.
        """
        starts = {_key(each.split): each.split.starting_offset for each in assigned}
        if self._options.on_assigned is not None:
            own = self._options.on_assigned(assigned) or {}
            starts |= {key: at for key, at in own.items() if key in starts}
        latest = [key for key, at in starts.items() if at == LATEST_OFFSET]
        committed = [key for key, at in starts.items() if at == COMMITTED_OFFSET]
        starts |= self._client.logs.offsets(latest, latest=True)
        if committed:
            there = self._client.committed(committed)
            starts |= there | self._client.reset_offsets([key for key in committed if key not in there])
        return starts


def _key(split: KafkaPartitionSplit) -> Key:
    return split.topic, split.partition
