"""A fleet of queries and their coordinator in virtual time.

The group, its commands, its ceiling, and the planner are the real ones. The model has the rest:
batches that take time, messages that travel, announcements that come late, triggers, deaths. Times
are in ms; nothing here looks at a clock or throws dice.
"""

import heapq
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from lockgate import watermark
from lockgate.errors import Refused
from lockgate.group.group import Group, create
from lockgate.group.leases import tolerance_ms
from lockgate.plan.answers import LogAnswers
from lockgate.plan.draft import Draft
from lockgate.plan.model import Backlog, Bounds, Head, Plan
from lockgate.wire.events import (
    GroupConfig,
    OnLostReader,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    WatermarkAlignmentEvent,
)
from support import turns as commands
from support.logs_in_memory import LogsInMemory
from support.turns import evaluate, next_deadline

START = 10**9
Command = Callable[[Group, int], Group]


@dataclass(frozen=True, kw_only=True)
class Death:
    """`at` ms after the start; back `back_after` ms later, or never, and then from a checkpoint
    `batches_back` older, perhaps with another `budget`.
    """

    at: int
    back_after: int | None
    batches_back: int = 0
    budget: int | None = None  # as before


@dataclass(frozen=True, kw_only=True)
class Member:
    """A query. `logs`: event times by split; `appended`: when each record came (None: all were
    there). `opens`: after how long a split is there, where that is not from the start. `rate`:
    records per ms.

    `overhead`: the fixed cost of a batch. `http`: one way of a message; `announce`: how late a
    change is heard of. `obeys`: goes by an announcement without a report of its own first. `waits`:
    a plan that is held waits for news, else it is asked again at the next trigger.
    """

    name: str
    logs: Mapping[str, Sequence[int]]
    appended: Mapping[str, Sequence[int]] | None = None
    opens: Mapping[str, int] = field(default_factory=dict)
    bounds: Bounds
    budget: int | None
    rate: float
    overhead: int = 300
    trigger: int = 0
    http: int = 2
    announce: int = 5
    obeys: bool = False
    waits: bool = True
    starts: int = 0
    finishes: bool = True
    deaths: tuple[Death, ...] = ()

    def ends(self, now: int) -> dict[str, int]:
        """The end of the log of each split that is there."""
        there = [split for split in self.logs if self.opens.get(split, 0) <= now - START]
        if self.appended is None:
            return {split: len(self.logs[split]) for split in there}
        return {split: bisect_right(self.appended[split], now - START) for split in there}

    @property
    def all_there(self) -> int:
        """From when on nothing is appended any more."""
        return START + max([0, *self.opens.values(), *(walls[-1] for walls in (self.appended or {}).values() if walls)])


class EvenLogs(LogsInMemory):
    """The same over ranges, millions of records long."""

    def first_after(self, event_time: int) -> dict[str, Head]:
        found = {}
        for split, log in self.logs.items():
            offset = bisect_right(log, event_time, self.positions[split], self.ends[split])
            if offset < self.ends[split]:
                found[split] = Head(offset, log[offset])
        return found

    def heads(self) -> dict[str, Head]:
        return self.first_after(watermark.MIN)

    def highest(self) -> dict[str, int]:
        return {split: self.logs[split][end - 1] for split, end in self.ends.items() if end}


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A reader's report, with its `positions` and `ends` when it looked at its logs, at `at`."""

    member: Member
    event: ReportedWatermarkEvent
    positions: Mapping[str, int]
    ends: Mapping[str, int]
    at: int
    rewinds: int


@dataclass(frozen=True, kw_only=True)
class Announced:
    """An event of the coordinator, with the reports of the readers that counted at that moment.
    The report of a lost reader that still holds the group has no offer.
    """

    event: WatermarkAlignmentEvent
    reports: tuple[Reported, ...]


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A batch that is in the checkpoint's log."""

    plan: Plan[str]
    latest: Announced
    event_times: tuple[int, ...]


class Observer(Protocol):
    """An observer of all that happens in the fleet."""

    def planned(self, query: "Query", batch: Batch) -> None: ...

    def held(self, query: "Query", plan: Plan[str], latest: Announced, report: Reported) -> None: ...

    def committed(self, query: "Query", batch: Batch) -> None: ...


@dataclass
class Coordinator:
    """The group, and its announcements in time."""

    fleet: "Fleet"
    group: Group
    reports: dict[str, Reported] = field(default_factory=dict)
    heard: dict[str, int] = field(default_factory=dict)
    silent: bool = False  # whether all were silent for too long, ever

    def hear(self, name: str, command: Command, report: Reported | None) -> Announced | None:
        """A message arrives; None where it is refused."""
        now = self.fleet.now
        try:
            group = command(self.group, now)
        except Refused:
            return None
        self.silent |= bool(self.heard) and now - max(self.heard.values()) > tolerance_ms(group.config)
        # registering alone makes nobody count again
        if report is None and self._lost(name) and name in self.reports:
            self.reports[name] = self._without_offer(self.reports[name])
            if group.config.on_lost_reader is OnLostReader.EXCLUDE:
                del self.reports[name]
        announced, self.group, self.heard[name] = self.group.revision, group, now
        if report is not None:
            self.reports[name] = report
        return self.settle(announced)

    def settle(self, announced: int | None = None) -> Announced:
        """Evaluates the group as of now. A change is announced to all; time may change it again."""
        before = self.group.revision if announced is None else announced
        self.group, event = evaluate(self.group, self.fleet.now)
        latest = Announced(event=event, reports=tuple(self._counting()))
        if event.revision != before:
            for query in self.fleet.queries:
                self.fleet.after(query.member.announce, lambda query=query: query.receive(latest))
        deadline = next_deadline(self.group, self.fleet.now)
        if deadline is not None:
            self.fleet.at(
                deadline, lambda: self.settle() if next_deadline(self.group, self.fleet.now - 1) == deadline else None
            )
        return latest

    def _counting(self) -> list[Reported]:
        lost = [self._without_offer(report) for report in self._of(lost=True)]
        holds = self.group.config.on_lost_reader is OnLostReader.HOLD and not self.silent
        return self._of(lost=False) + (lost if holds else [])

    def _without_offer(self, report: Reported) -> Reported:
        return replace(report, event=replace(report.event, reach=None))

    def _of(self, *, lost: bool) -> list[Reported]:
        unfinished = {name: report for name, report in self.reports.items() if not report.event.finished}
        return [report for name, report in unfinished.items() if self._lost(name) is lost]

    def _lost(self, name: str) -> bool:
        return name in self.heard and self.heard[name] + self.group.config.lease_ms <= self.fleet.now


class Query:
    """A member at work. `positions`: where the batches in its checkpoint end."""

    def __init__(self, member: Member, fleet: "Fleet") -> None:
        self.member, self.fleet = member, fleet
        self.positions: Mapping[str, int] = dict.fromkeys(member.ends(START), 0)
        self.highest = watermark.MIN  # event time of any record in a batch that is done
        self.history = [(self.positions, self.highest)]
        self.rewinds = 0
        self.done_at: int | None = None
        self.gone = False  # for good, as far as anybody knows
        self.batches = 0
        self._batch: Batch | None = None  # logged, not done
        self._run, self._epoch = 0, 0
        self._latest: Announced | None = None
        self._sent: Reported | None = None
        self._held: Draft[str] | None = None

    def begin(self) -> None:
        """A run: a batch that is in the log is read again first, whatever the ceiling is by now."""
        self._run, self.gone = self._run + 1, False
        self._latest = self._sent = self._held = None
        if self._batch is not None:
            self._read(self._batch)
        else:
            self._register()

    def die(self, death: Death) -> None:
        """Dies, in the middle of its work."""
        if self.done_at is not None:
            return
        self._run, self.gone, self._held = self._run + 1, death.back_after is None, None
        if death.batches_back and len(self.history) > 1:
            del self.history[max(1, len(self.history) - death.batches_back) :]
            self.positions, self.highest = self.history[-1]
            self._batch = None
            self.rewinds += 1
        if death.budget is not None:
            self.member = replace(self.member, budget=death.budget)
        if death.back_after is not None:
            self.fleet.after(death.back_after, self.begin)

    def receive(self, latest: Announced) -> None:
        """An announcement; an older revision than its own changes nothing."""
        if self._latest is None or latest.event.revision <= self._latest.event.revision:
            return
        self._latest = latest
        if self._held is not None and self.member.waits:
            if self.member.obeys:
                self._decide(self._held)
            else:
                self._plan()

    # -- one step after the other; each is forgotten if the run dies before it --

    def _after(self, wait: float, step: Callable[[], None]) -> None:
        run = self._run
        self.fleet.after(int(wait), lambda: step() if run == self._run else None)

    def _ask(self, command: Command, report: Reported | None, answered: Callable[[Announced], None]) -> None:
        run = self._run

        def arrives() -> None:  # also when the sender is dead by then
            latest = self.fleet.coordinator.hear(self.member.name, command, report)
            if latest is not None:
                self.fleet.after(self.member.http, lambda: answered(latest) if run == self._run else None)

        self.fleet.after(self.member.http, arrives)

    def _register(self) -> None:
        event = ReaderRegistrationEvent(subtask=0, owner=self.member.name)

        def registered(_: Announced) -> None:
            self._epoch = self.fleet.coordinator.group.readers[self.member.name, 0].epoch
            self._keep_lease()
            self._plan()

        self._ask(lambda group, now: commands.register(group, self.member.name, event, now), None, registered)

    def _plan(self) -> None:
        self._held = None
        draft, ends = self._draft()
        lowest = min(draft.reported_watermarks().values(), default=watermark.MAX)
        if self.fleet.now >= self.member.all_there and self.positions == ends and self.done_at is None:
            self.done_at = self.fleet.now
        finished = self.member.finishes and self.done_at is not None
        event = ReportedWatermarkEvent(
            subtask=0,
            epoch=self._epoch,
            watermark=lowest,
            reach=draft.reach if draft.reach > lowest else None,
            finished=finished,
        )
        report = Reported(
            member=self.member,
            event=event,
            positions=self.positions,
            ends=ends,
            at=self.fleet.now,
            rewinds=self.rewinds,
        )
        self._report(report, lambda: self._decide(draft))
        if finished:
            self._run += 1

    def _draft(self) -> tuple[Draft[str], dict[str, int]]:
        now, ends = self.fleet.now, self.member.ends(self.fleet.now)
        self.positions = positions = {split: self.positions.get(split, 0) for split in ends}
        view = self.fleet.view({split: self.member.logs[split] for split in ends}, positions, ends)
        backlogs = {s: Backlog(source=0, position=positions[s], end=ends[s], known_until=now) for s in ends}
        return Draft(LogAnswers(backlogs, view, self.member.bounds, {0: self.member.budget})), ends

    def _report(self, report: Reported, then: Callable[[], None]) -> None:
        self._sent = report

        def answered(latest: Announced) -> None:
            if self._latest is None or latest.event.revision >= self._latest.event.revision:
                self._latest = latest
            then()

        self._ask(lambda group, now: commands.report(group, self.member.name, report.event, now), report, answered)

    def _decide(self, draft: Draft[str]) -> None:
        assert self._latest is not None
        assert self._sent is not None
        plan = draft.plan(self._latest.event.max_desired_watermark)
        if plan.offsets:
            self._held = None
            times = (
                tuple(t for s, p in plan.splits.items() for t in self.member.logs[s][p.position : p.end])
                if self.fleet.exact
                else ()
            )
            self._batch = Batch(plan=plan, latest=self._latest, event_times=times)
            self.fleet.observer.planned(self, self._batch)
            self._read(self._batch)
            return
        self.fleet.observer.held(self, plan, self._latest, self._sent)
        self._held = draft
        again = self.member.trigger or self.fleet.coordinator.group.config.update_interval_ms
        self._after(again, lambda: self._plan() if self._held is draft else None)

    def _read(self, batch: Batch) -> None:
        self._after(self.member.overhead + batch.plan.offsets / self.member.rate, lambda: self._commit(batch))

    def _commit(self, batch: Batch) -> None:
        self.batches += 1
        self.positions = {split: plan.end for split, plan in batch.plan.splits.items()}
        self.fleet.observer.committed(self, batch)
        self.highest = max(self.highest, *batch.event_times, watermark.MIN)
        self.history.append((self.positions, self.highest))
        self._batch = None
        trigger = self.member.trigger
        wait = -(self.fleet.now - START - self.member.starts) % trigger if trigger else 0
        self._after(wait, self._plan if self._epoch and self._sent is not None else self._register)

    def _keep_lease(self) -> None:
        if self._sent is not None and self._batch is not None:
            self._report(self._sent, lambda: None)
        self._after(self.fleet.coordinator.group.config.lease_ms // 6, self._keep_lease)


class Fleet:
    """All of it, and the time. `exact`: whether the observer is shown each record."""

    def __init__(self, config: GroupConfig, members: Sequence[Member], observer: Observer, exact: bool = True) -> None:
        self.now, self.exact, self.observer = START, exact, observer
        self.view = LogsInMemory if exact else EvenLogs
        self._todo: list[tuple[int, int, Callable[[], object]]] = []
        self._count = 0
        self.coordinator = Coordinator(self, create("fleet", config, START))
        self.queries = [Query(member, self) for member in members]
        for query in self.queries:
            self.at(START + query.member.starts, query.begin)
            for death in query.member.deaths:
                self.at(START + query.member.starts + death.at, lambda query=query, death=death: query.die(death))

    def at(self, time: int, do: Callable[[], object]) -> None:
        self._count += 1
        heapq.heappush(self._todo, (time, self._count, do))

    def after(self, wait: int, do: Callable[[], object]) -> None:
        self.at(self.now + wait, do)

    def run(self, for_ms: int) -> None:
        """Until all that live have read everything, or for so long."""
        until = START + for_ms
        while (
            self._todo
            and self._todo[0][0] <= until
            and any(query.done_at is None and not query.gone for query in self.queries)
        ):
            self.now, _, do = heapq.heappop(self._todo)
            do()
