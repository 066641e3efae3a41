"""Readers, their group and their enumerator in virtual time, for splits on their way.

Each process obeys the protocol: it reports where its splits stand, and those that it gives back
until an answer has come. A split that it has just opened stands nowhere before it has read of it.
"""

from dataclasses import dataclass, field, replace

from core.enumerator.fleet import Process, split
from lockgate.enumerator.answers import wishes
from lockgate.enumerator.arrivals import LastReports, arriving
from lockgate.enumerator.exchange import create, leave
from lockgate.enumerator.model import Enumerator
from lockgate.enumerator.replaced import lost_readers, replaced
from lockgate.group.commands import RemoveLost
from lockgate.group.group import Group
from lockgate.group.group import create as create_group
from lockgate.steps import at_once
from lockgate.watermark import MIN
from lockgate.wire.events import GroupConfig, OnLostReader, ReaderRegistrationEvent, ReportedWatermarkEvent, SplitReport
from support import turns as commands
from support.exchanging import exchange
from support.turns import decide, evaluate

CONFIG = GroupConfig(lease_ms=900, update_interval_ms=100, on_lost_reader=OnLostReader.HOLD)


@dataclass
class Member(Process):
    """A process that reports. `stands`: the watermark of each split of which it has read."""

    stands: dict[str, int] = field(default_factory=dict)
    settled: bool = False

    def report(self) -> ReportedWatermarkEvent:
        splits = {
            id: SplitReport(watermark=self.stands.get(id, MIN), position=each.split.starting_offset)
            for id, each in {**self.held, **self.drained}.items()
        }
        shown = [at.watermark for at in splits.values() if at.watermark > MIN]
        idle = self.settled and not shown
        return ReportedWatermarkEvent(
            subtask=self.subtask, epoch=self.epoch, watermark=min(shown, default=MIN), idle=idle, splits=splits
        )


class MembersOfOneGroup:
    """The source `s` of a group, with all that it has. `reported`: where each split stood when it
    was reported last.
    """

    def __init__(self, partitions: int = 4, config: GroupConfig = CONFIG) -> None:
        self.now, self.config, self.partitions = 1_000_000, config, partitions
        self.group: Group = create_group("g", config, self.now)
        self.enumerator: Enumerator = create(config, self.now)
        self.members: list[Member] = []
        self.reported: dict[str, int] = {}
        self.left: dict[int, int] = {}

    def start(self, subtask: int) -> Member:
        """Return a process that takes this number, over another one that may have it."""
        event = ReaderRegistrationEvent(subtask=subtask, owner=str(self.now), takeover=True)
        self.group = commands.register(self.group, "s", event, self.now)
        member = Member(subtask, self.group.readers["s", subtask].epoch)
        self.members = [each for each in self.members if each.subtask != subtask] + [member]
        return member

    def exchange(self, member: Member, *, answered: bool = True) -> None:
        report = member.report()
        self.reported |= {id: at.watermark for id, at in report.splits.items() if at.watermark > MIN}
        self.group, _ = evaluate(commands.report(self.group, "s", report, self.now), self.now)
        message = member.message(tuple(split(partition) for partition in range(self.partitions)))
        reader, before = (member.subtask, member.epoch), self.enumerator
        reports = LastReports(self.group.readers, "s")
        done = exchange(before, reader, message, self.now, self.config, reports)
        self._follow(before, done.enumerator, reader)
        wish = wishes(done.enumerator, reader, message, self.now)
        if not wish.add_splits:
            gone = replaced(self.enumerator, lost_readers(self.group, "s"))
            self.group = commands.after(self.group, RemoveLost(gone), self.now)
        if answered:
            member.settled = member.settled or not wish.assigning_in_ms
            member.obey(wish, done.stop, done.enumerator.revision, self.now)
            kept = member.held.keys() | member.drained.keys()
            opened = {added.split.split_id for added in wish.add_splits}
            member.stands = {id: at for id, at in member.stands.items() if id in kept and id not in opened}

    def leave(self, member: Member) -> None:
        """It has given back all that it held, and goes."""
        member.drained |= member.held
        member.held.clear()
        self.members.remove(member)
        reader, before = (member.subtask, member.epoch), self.enumerator
        self._follow(before, at_once(leave(before, reader, self.now, LastReports(self.group.readers, "s"))), reader)
        self.left[member.subtask] = member.epoch
        self.group = commands.leave(self.group, "s", member.subtask, member.epoch, self.now)

    def read(self, member: Member, partition: int, to: int) -> None:
        """The member reads of a split that it holds, up to this event time or on from there."""
        id = f"orders-{partition}"
        if id in member.held:
            at = max(to, self.reported.get(id, to), member.stands.get(id, to))
            member.stands[id] = at
            held = member.held[id]
            member.held[id] = replace(held, split=split(partition, held.split.starting_offset + 1))

    def all_exchange(self, rounds: int = 1) -> None:
        for _ in range(rounds):
            for member in list(self.members):
                self.exchange(member)
            self.now += 100

    def has_orphans(self) -> bool:
        """Whether a process holds splits whose successor has left: the group knows no such reader
        until the lease ends.
        """
        return any(epoch <= self.left.get(subtask, 0) for subtask, epoch in self.enumerator.readers)

    def watermark(self) -> int:
        return decide(self.group, self.now).group_watermark

    def holder(self, id: str) -> Member:
        return next(member for member in self.members if id in member.held)

    def _follow(self, before: Enumerator, after: Enumerator, reader: tuple[int, int]) -> None:
        self.enumerator = after
        self.group = commands.arrive(self.group, "s", arriving(before, after, reader), self.now)
