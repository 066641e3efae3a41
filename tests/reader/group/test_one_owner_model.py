"""Readers and the enumerator in virtual time, with clocks that are apart, messages that are late or
lost, processes that stop or die, and stores that lose what they had, in memory (all) or in Redis
(the last commits): each split has one owner at a time, and no record is left out.

The rules are the real ones: `holdings` and `fencing` of the reader, `lockgate.enumerator` of the
coordinator. What reads Kafka is a counter here.
"""

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from lockgate.enumerator.answers import wishes
from lockgate.enumerator.exchange import careful, create
from lockgate.errors import StaleEpoch
from lockgate.flink.splits import COMMITTED_OFFSET, EARLIEST_OFFSET, KafkaPartitionSplit
from lockgate.steps import at_once
from lockgate.wire.events import GroupConfig, WatermarkAlignmentEvent
from lockgate.wire.split_events import SplitAnswer, SplitExchange
from lockgate_reader.group.holdings import RATE_ERROR, Holdings, SplitLease
from lockgate_reader.place import ReaderSplit, ReaderState
from support.exchanging import exchange

CONFIG = GroupConfig(lease_ms=2_000, update_interval_ms=200)
EVENT = WatermarkAlignmentEvent(group="g", revision=1, group_watermark=0, max_desired_watermark=0)
SPLITS, RECORDS = 6, 60


@dataclass
class Clock:
    """`offset` in s; `rate`: its seconds in a second of true time."""

    offset: float
    rate: float

    def at(self, true_s: float) -> float:
        return self.offset + self.rate * true_s


@dataclass
class Consumer:
    """A reader. `at`: the next record of each split that it has opened, with its number."""

    subtask: int
    epoch: int
    clock: Clock
    holdings: Holdings
    lease: SplitLease = field(default_factory=SplitLease)
    at: dict[str, tuple[int, int]] = field(default_factory=dict)
    returned: dict[str, ReaderSplit] = field(default_factory=dict)
    listed: tuple[KafkaPartitionSplit, ...] | None = None
    listed_for: int = 0
    waits: bool = False  # for an answer: one exchange is under way at a time
    alive: bool = True
    stopped_until: float = 0.0

    def obeys(self, committed: dict[str, int]) -> None:
        """As the consumer does with new orders."""
        assigned = self.holdings.assigned or {}
        numbers = {name: each.number for name, each in assigned.items()}
        self.at = {name: one for name, one in self.at.items() if numbers.get(name) == one[0]}
        self.returned = {name: one for name, one in self.returned.items() if numbers.get(name) == one.number}
        for name, each in assigned.items():
            if name not in self.at and name not in self.returned and name not in self.holdings.give_back:
                begin = committed[name] if each.split.starting_offset == COMMITTED_OFFSET else 0
                self.at[name] = (each.number, max(begin, each.split.starting_offset))
        for name in self.holdings.give_back - self.returned.keys():
            number, offset = self.at.pop(name, (assigned[name].number, assigned[name].split.starting_offset))
            self.returned[name] = held(name, number, offset)
        if self.holdings.discover != self.listed_for:
            self.listed_for = self.holdings.discover
            self.listed = tuple(KafkaPartitionSplit("t", i, EARLIEST_OFFSET) for i in range(SPLITS))

    def says(self) -> ReaderState:
        splits = tuple(held(name, number, offset) for name, (number, offset) in self.at.items())
        return ReaderState(held=splits, returned=tuple(self.returned.values()), discovered=self.listed)


def held(name: str, number: int, offset: int) -> ReaderSplit:
    return ReaderSplit(KafkaPartitionSplit("t", int(name.rpartition("-")[2]), offset), number)


class World:
    """True time, the coordinator, its readers, and what they have handed out."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.now_s, self.epochs = 100.0, 0
        self.store = self._clock()
        self.enumerator = create(CONFIG, self._store_ms())
        self.consumers: list[Consumer] = []
        self.under_way: list[tuple[float, Any]] = []
        self.handed_out: dict[str, list[tuple[int, int]]] = {f"t-{i}": [] for i in range(SPLITS)}  # (number, offset)
        self.committed = dict.fromkeys(self.handed_out, 0)
        self.takeovers = self.losses = 0
        self.past = [self.enumerator]

    def start(self, subtask: int) -> None:
        self.epochs += 1
        self.consumers.append(Consumer(subtask, self.epochs, self._clock(), Holdings(str(self.epochs))))

    def tick(self, faults: bool) -> None:
        self.now_s += self.chance.uniform(0, 0.2)
        for due in [each for each in self.under_way if each[0] <= self.now_s]:
            self.under_way.remove(due)
            due[1]()
        for one in [each for each in self.consumers if each.alive]:
            if faults and self.chance.random() < 0.02:
                self._break(one)
            elif self.now_s >= one.stopped_until:
                self._run(one, faults)

    def lose(self, behind_s: float | None) -> None:
        """The store is empty, and its clock is behind the one before; None: it has lost the last
        commits, and the coordinator notices. One that has seen anything comes first.
        """
        self.losses += 1
        if behind_s is None:
            self.enumerator = at_once(careful(self.past[0], CONFIG, self._store_ms()))
            return
        self.store.offset -= behind_s
        self.enumerator = create(CONFIG, self._store_ms())
        running = [each for each in self.consumers if each.alive and self.now_s >= each.stopped_until]
        witnesses = [each for each in running if each.holdings._seen]
        if witnesses:
            one = self.chance.choice(witnesses)
            self._answer(one, one.holdings.exchange(one.says(), one.epoch))

    def _break(self, one: Consumer) -> None:
        self.takeovers += 1
        if self.chance.random() < 0.5:
            one.stopped_until = self.now_s + self.chance.uniform(0, 6)
        else:
            one.alive = False
            self.start(one.subtask)

    def _run(self, one: Consumer, faults: bool) -> None:
        if not one.lease.is_over(one.clock.at(self.now_s)):
            for name, (number, offset) in one.at.items():
                assert not self._others(one, name), f"{name} is in two hands"
                if offset < RECORDS and self.chance.random() < 0.7:
                    self.handed_out[name].append((number, offset))
                    one.at[name] = (number, offset + 1)
                    self.committed[name] = max(self.committed[name], offset + 1)
        if not one.waits:
            self._send(one, faults)

    def _others(self, one: Consumer, name: str) -> list[Consumer]:
        """Who else may hand out records of the split."""
        others = [each for each in self.consumers if each is not one and each.alive and name in each.at]
        return [each for each in others if not each.lease.is_over(each.clock.at(self.now_s))]

    def _send(self, one: Consumer, faults: bool) -> None:
        one.waits = True
        said = one.says()
        sent, sent_at = one.holdings.exchange(said, one.epoch), one.clock.at(self.now_s)
        lost = faults and self.chance.random() < 0.15
        late_s = self.chance.choice([0.01, 0.1, 3.0]) if faults else 0.01

        def answered(answer: SplitAnswer | None) -> None:
            if self.now_s < one.stopped_until:
                return self._later(one.stopped_until - self.now_s, lambda: answered(answer))
            one.waits = False
            if answer is not None and one.alive:
                one.holdings.answered(sent, answer, said)
                now = one.clock.at(self.now_s)
                one.lease = one.lease.renewed(sent_at, answer.lease_ms, now, settled=one.holdings.settled)
                one.obeys(self.committed)
            return None

        def received() -> None:
            answer = self._answer(one, sent)
            self._later(late_s, lambda: answered(None if lost else answer))

        self._later(late_s, received)

    def _answer(self, one: Consumer, sent: SplitExchange) -> SplitAnswer | None:
        reader, now_ms = (one.subtask, one.epoch), self._store_ms()
        try:
            done = exchange(self.enumerator, reader, sent, now_ms, CONFIG)
        except StaleEpoch:
            return None
        self.enumerator, self.past = done.enumerator, [*self.past[-5:], self.enumerator]
        wish = wishes(done.enumerator, reader, sent, now_ms)
        return SplitAnswer(
            group="g", source="s", subtask=one.subtask, epoch=one.epoch, revision=done.enumerator.revision,
            lease_ms=CONFIG.lease_ms, update_interval_ms=CONFIG.update_interval_ms, alignment=EVENT, stop=done.stop,
            **{name: getattr(wish, name) for name in wish.__dataclass_fields__},
        )  # fmt: skip

    def _later(self, after_s: float, act: Any) -> None:
        self.under_way.append((self.now_s + after_s, act))

    def _clock(self) -> Clock:
        return Clock(self.chance.uniform(-1e3, 1e3), self.chance.uniform(1 - RATE_ERROR / 2, 1 + RATE_ERROR / 2))

    def _store_ms(self) -> int:
        return int((self.store.at(self.now_s) + 1e6) * 1_000)


def run(seed: int, faults: bool, losses: tuple[float | None, ...] = ()) -> World:
    world = World(seed)
    for subtask in range(3):
        world.start(subtask)
    for step in range(400):
        if losses and step % 80 == 60:
            world.lose(world.chance.choice(losses))
        world.tick(faults and step < 250)
    for one in world.consumers:
        one.stopped_until = 0.0
    for _ in range(400):
        world.tick(False)
    return world


@pytest.mark.parametrize("seed", range(8))
def test_each_split_has_one_owner_at_a_time_and_no_record_is_left_out(seed: int) -> None:
    world = run(seed, faults=True)
    assert world.takeovers > 3
    for name, records in world.handed_out.items():
        numbers = [number for number, _ in records]
        assert numbers == sorted(numbers), f"{name}: an older owner went on after a newer one had begun"
        assert {offset for _, offset in records} == set(range(RECORDS)), name


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("losses", [(0,), (1, 90), (None,), (0, 90, None)], ids=str)
def test_a_store_that_loses_history_gives_no_split_to_two_owners(seed: int, losses: tuple[float | None, ...]) -> None:
    world = run(seed, faults=True, losses=losses)
    assert world.losses == 5
    for name, records in world.handed_out.items():
        assert {offset for _, offset in records} == set(range(RECORDS)), name


@pytest.mark.parametrize("seed", range(2))
def test_without_faults_no_record_is_handed_out_twice(seed: int) -> None:
    world = run(seed, faults=False)
    for records in world.handed_out.values():
        assert [offset for _, offset in records] == list(range(RECORDS))
