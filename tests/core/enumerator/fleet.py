"""A fleet of readers around one enumerator, in virtual time, for the model test.

Each process obeys the protocol: it exchanges, drains, gives back, and hands out nothing after its
lease has ended by its own clock. The network loses requests and answers, and delivers some late.
"""

from dataclasses import dataclass, field, replace

from lockgate.enumerator.answers import Wishes, wishes
from lockgate.enumerator.exchange import careful, create, leave
from lockgate.enumerator.model import Enumerator
from lockgate.errors import StaleEpoch
from lockgate.flink.splits import COMMITTED_OFFSET, EARLIEST_OFFSET, KafkaPartitionSplit
from lockgate.steps import at_once
from lockgate.wire.split_events import DiscoveredSplits, NumberedSplit, SplitExchange, StoppedSplit
from support.exchanging import CONFIG, NO_REPORTS, exchange

RATE_ERROR = 0.01


def split(partition: int, offset: int = 0, topic: str = "orders") -> KafkaPartitionSplit:
    return KafkaPartitionSplit(topic, partition, offset)


def assigned(partition: int, number: int, offset: int = 0, *, restored: bool = False) -> NumberedSplit:
    return NumberedSplit(split=split(partition, offset), assignment=number, restored=restored)


@dataclass
class Process:
    """One process: a subtask at an epoch. `sent_at`: its last exchange that was answered. It holds
    the splits of `held`, by id; `drained` are those that it gives back.
    """

    subtask: int
    epoch: int
    capacity: int = 1
    held: dict[str, NumberedSplit] = field(default_factory=dict)
    drained: dict[str, NumberedSplit] = field(default_factory=dict)
    sent_at: int | None = None
    seen: int = 0
    asked: int | None = None
    fenced: bool = False
    lapsed: bool = True

    def may_read(self, now: int) -> bool:
        """Whether its lease runs, by its own clock. Once it has ended, it may read only after an
        answer by which the enumerator assigns.
        """
        return (
            not self.lapsed
            and self.sent_at is not None
            and now < self.sent_at + int(CONFIG.lease_ms * (1 - RATE_ERROR))
        )

    def message(self, splits: tuple[KafkaPartitionSplit, ...]) -> SplitExchange:
        return SplitExchange(
            epoch=self.epoch,
            held=tuple(self.held.values()),
            given_back=tuple(self.drained.values()),
            capacity=self.capacity,
            discovery_interval_ms=500,
            discovered=None if self.asked is None else DiscoveredSplits(splits=splits, request=self.asked),
            seen=self.seen or None,
        )

    def obey(self, wish: Wishes, stop: tuple[StoppedSplit, ...], revision: int, sent_at: int) -> None:
        self.lapsed = bool(wish.assigning_in_ms) and not self.may_read(sent_at)
        self.sent_at, self.seen, self.asked = sent_at, revision, wish.discover
        self.drained.clear()
        for each in stop:
            if each.split in self.held and self.held[each.split].assignment == each.assignment:
                del self.held[each.split]
        for added in wish.add_splits:
            self.held[added.split.split_id] = added
        for id in wish.give_back:
            if id in self.held:
                self.drained[id] = self.held.pop(id)


@dataclass
class Fleet:
    """The enumerator, its living processes, and the logs of the splits."""

    now: int = 1_000_000
    partitions: int = 4
    processes: list[Process] = field(default_factory=list)
    enumerator: Enumerator = field(init=False)
    past: list[Enumerator] = field(default_factory=list)
    late: list[tuple[Process, SplitExchange]] = field(default_factory=list)
    handed_out: dict[str, int] = field(default_factory=dict)
    snapshots: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.enumerator = create(CONFIG, self.now)

    def splits(self) -> tuple[KafkaPartitionSplit, ...]:
        return tuple(split(partition, EARLIEST_OFFSET) for partition in range(self.partitions))

    def start(self, subtask: int, capacity: int = 1) -> Process:
        """Return a process that registers, and fences the one before it."""
        for other in self.processes:
            other.fenced |= other.subtask == subtask
        epochs = [each.epoch for each in self.processes] + [epoch for _, epoch in self.enumerator.readers]
        process = Process(subtask, max([self.now, *(epoch + 1 for epoch in epochs)]), capacity)
        self.processes.append(process)
        return process

    def exchange(self, process: Process, *, request: bool = True, answer: bool = True) -> None:
        """One exchange; the request or the answer may get lost."""
        message = process.message(self.splits())
        if not request:
            self.late.append((process, message))
            return
        if process.fenced:  # the group refuses it before the enumerator sees it
            self.processes.remove(process)
            return
        wish, stop = self.arrives(process, message)
        if answer:
            process.obey(wish, stop, self.enumerator.revision, self.now)

    def arrives(self, process: Process, message: SplitExchange) -> tuple[Wishes, tuple[StoppedSplit, ...]]:
        self.past = [*self.past[-5:], self.enumerator]
        id = (process.subtask, process.epoch)
        done = exchange(self.enumerator, id, message, self.now)
        self.enumerator = done.enumerator
        for held in done.enumerator.readers[id].held.values() if id in done.enumerator.readers else ():
            self.snapshots |= {held.split.split_id} if held.split.starting_offset >= 0 else set()
        return wishes(done.enumerator, id, message, self.now), done.stop

    def deliver_late(self) -> None:
        """A message of some time ago arrives, and its answer goes nowhere."""
        process, message = self.late.pop(0)
        if process.fenced:
            return
        try:
            self.arrives(process, message)
        except StaleEpoch:
            return

    def register_again(self, process: Process) -> None:
        """The same process registers, and goes on holding what it holds."""
        again = self.start(process.subtask, process.capacity)
        again.held, again.drained, again.seen = process.held, process.drained, process.seen
        again.sent_at, again.lapsed = process.sent_at, process.lapsed
        self.processes.remove(process)

    def leave(self, process: Process) -> None:
        self.processes.remove(process)
        self.enumerator = at_once(leave(self.enumerator, (process.subtask, process.epoch), self.now, NO_REPORTS))

    def lose_last_commits(self) -> None:
        """The store goes back in time, and the coordinator notices."""
        self.enumerator = at_once(careful(self.past[0], CONFIG, self.now))

    def lose_last_commits_unnoticed(self, number: int) -> None:
        """The store goes back in time, and a coordinator that never saw it has taken over. A reader
        that has seen more comes first.
        """
        witnesses = [each for each in self.processes if each.seen > self.past[0].revision and not each.fenced]
        if witnesses:
            self.enumerator = self.past[0]
            self.exchange(witnesses[number % len(witnesses)], answer=bool(number % 3))

    def lose_everything(self, number: int) -> None:
        """The store is empty. One of all that have seen anything comes first, whatever it holds.
        Without one, or in the millisecond of the last commit, the loss leaves no trace, and
        `exchange` promises nothing.
        """
        witnesses = [each for each in self.processes if each.seen and not each.fenced]
        if witnesses:
            self.now = max(self.now, self.enumerator.revision, self.enumerator.last_number) + 1
            self.enumerator = create(CONFIG, self.now)
            self.exchange(witnesses[number % len(witnesses)], answer=bool(number % 3))

    def read(self, process: Process, records: int) -> None:
        """Hands out records of each split that the process holds, if it may."""
        if not process.may_read(self.now):
            return
        for id, held in process.held.items():
            begin = self._begin(id, held.split.starting_offset)
            assert begin <= self.handed_out.get(id, 0), f"{id}: records below {begin} are left out"
            moved = split(held.split.partition, begin + records)
            process.held[id] = replace(held, split=moved)
            self.handed_out[id] = max(self.handed_out.get(id, 0), begin + records)

    def _begin(self, id: str, offset: int) -> int:
        """Return the first record. All that was handed out is committed."""
        if offset == EARLIEST_OFFSET:
            assert id not in self.snapshots, f"{id} begins at the beginning again"
            return 0
        return self.handed_out.get(id, 0) if offset == COMMITTED_OFFSET else offset

    def check(self) -> None:
        """No split is in two hands: of the processes that may read now, one holds it. The
        enumerator has each split in one place.
        """
        ids = list(self.enumerator.ids())
        assert len(ids) == len(set(ids))
        readers: dict[str, Process] = {}
        for process in self.processes:
            for id in process.held if process.may_read(self.now) else ():
                assert id not in readers, f"{id} is in the hands of {process} and of {readers[id]}"
                readers[id] = process
