"""Tracks which splits a reader should have, and until when, according to the coordinator's answers,
and composes what the reader tells it. This module does no I/O; its caller, `joined`, holds a lock.

A split that is neither in a request (`SplitExchange`) nor added by its answer (`SplitAnswer`) no
longer belongs to the reader. If an answer is lost, the next request contains everything again.

A split that starts at `LATEST_OFFSET` is *unresolved* until a request with its actual offset is
answered. Until then, no record is returned: another reader that got the split before that would
start at a later end of the log.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import count
from math import inf
from typing import Any

from lockgate.flink.splits import LATEST_OFFSET
from lockgate.watermark import MIN, add
from lockgate.wire import split_events as wire
from lockgate.wire.events import SplitReport, SplitState
from lockgate.wire.split_events import DiscoveredSplits, SourceEvent, SplitAnswer, SplitExchange
from lockgate_http.group.source_status import SourceStatus
from lockgate_reader.place import AssignedSplit, ReaderSplit, ReaderState

Numbered = tuple[str, int]  # a split's id, and the number of its assignment
RATE_ERROR = 0.01
"""r: the fraction by which the clock rates of the reader and the coordinator's store may differ."""
UNKNOWN = SourceStatus(MIN, None)  # before the reader's first record
NOBODY_HELD = SourceStatus(MIN, None, idle=True)  # without splits, or at the end of all data


class Holdings:
    """The splits that the coordinator has assigned to one reader.

    `assigned` has the splits by their ids; it is None before the coordinator's first answer.
    `settled` is False while the coordinator delays assignments, as after it has lost its data.
    `discover` is the number of the latest request to list the topics, which comes every
    `discovery_ms`, or only once if that is 0 or the source is `bounded`.
    """

    def __init__(self, name: str, *, discovery_ms: int = 0, bounded: bool = False) -> None:
        self.assigned: dict[str, AssignedSplit] | None = None
        self.give_back: frozenset[str] = frozenset()
        self.no_more_splits = self.settled = False
        self.discover = 0
        self._name, self._discovery_ms, self._bounded = name, discovery_ms, bounded
        self._news = 0.0  # the revision of the newest change that the event stream announced
        self._seen: int | None = None
        self._listed: object = None  # the list of splits that was sent last
        self._request: int | None = None  # number of the request to list splits that is not answered yet
        self._outgoing: list[SourceEvent] = []
        self._incoming: list[object] = []
        self._events_seen = 0
        self._ids = count(1)

    def sends(self, event: dict[str, Any]) -> None:
        """Queue a source event for the next request."""
        self._outgoing.append(SourceEvent(id=f"{self._name}-{next(self._ids)}", event=event))

    def hears(self, revision: float) -> None:
        self._news = max(self._news, revision)

    @property
    def has_news(self) -> bool:
        return self._news > (self._seen or 0)

    @property
    def unresolved(self) -> frozenset[Numbered]:
        latest = (each for each in (self.assigned or {}).values() if each.split.starting_offset == LATEST_OFFSET)
        return frozenset(map(_numbered, latest))

    def events(self) -> list[object]:
        """Return the source events since the last call."""
        events, self._incoming = self._incoming, []
        return events

    def own(self, splits: Iterable[ReaderSplit]) -> list[ReaderSplit]:
        """Return those `splits` that still belong to this reader."""
        own = self.assigned or {}
        return [each for each in splits if (mine := own.get(each.split.split_id)) and mine.number == each.number]

    def is_urgent(self, state: ReaderState) -> bool:
        """Return whether the coordinator waits for a change in `state`, like a returned split."""
        unresolved = self.unresolved
        return bool(
            self.own((*state.returned, *state.finished))
            or (unresolved and any(_numbered(each) in unresolved for each in state.held))
            or self._outgoing
            or self._discovered(state)
        )

    def exchange(self, state: ReaderState, epoch: int) -> SplitExchange:
        self._news = 0.0
        return SplitExchange(
            epoch=epoch,
            held=self._on_the_wire(state.held),
            given_back=self._on_the_wire(state.returned),
            finished=self._on_the_wire(state.finished),
            request_split=not state.held,
            discovery_interval_ms=self._discovery_ms,
            discovered=self._discovered(state),
            seen=self._seen,
            source_events=tuple(self._outgoing[: wire.SOURCE_EVENTS_KEPT]),
            source_events_seen=self._events_seen,
        )

    def farewell(self, state: ReaderState, epoch: int) -> SplitExchange:
        """Return the reader's last request, which gives back all its splits."""
        last = self.exchange(replace(state, held=(), returned=(*state.held, *state.returned)), epoch)
        return replace(last, capacity=0, request_split=False, discovery_interval_ms=None, discovered=None)

    def answered(self, sent: SplitExchange, answer: SplitAnswer, state: ReaderState) -> None:
        held = {(each.split.split_id, each.assignment): each.split for each in sent.held}
        for stopped in answer.stop:
            held.pop((stopped.split, stopped.assignment), None)
        before, unresolved = {_numbered(each): each for each in (self.assigned or {}).values()}, self.unresolved
        self.assigned = {
            numbered[0]: AssignedSplit(held[numbered], numbered[1]) if numbered in unresolved else each
            for numbered, each in before.items()
            if numbered in held
        }
        for each in answer.add_splits:
            added = AssignedSplit(each.split, each.assignment)
            # The reader may already have opened it at the starting offset of an earlier answer.
            self.assigned[each.split.split_id] = before.get(_numbered(added), added)
        self.give_back = frozenset(answer.give_back) & self.assigned.keys()
        self.no_more_splits = answer.no_more_splits
        self.settled = answer.assigning_in_ms == 0
        self._seen = answer.revision
        taken = {event.id for event in sent.source_events}
        self._outgoing = [event for event in self._outgoing if event.id not in taken]
        for event in answer.source_events:
            if event.number > self._events_seen:
                self._events_seen = event.number
                self._incoming.append(event.event)
        if sent.discovered is not None:
            self._listed, self._request = state.discovered, None
        if answer.discover is not None and self._request is None:
            self._request, self.discover = answer.discover, self.discover + 1

    def _on_the_wire(self, splits: Iterable[ReaderSplit]) -> tuple[wire.NumberedSplit, ...]:
        return tuple(
            wire.NumberedSplit(split=each.split, assignment=each.number, restored=each.went_back)
            for each in self.own(splits)
        )

    def _discovered(self, state: ReaderState) -> DiscoveredSplits | None:
        found = state.discovered
        if found is None or self._request is None or found is self._listed:
            return None
        return DiscoveredSplits(splits=found, bounded=self._bounded, request=self._request)


def _numbered(split: AssignedSplit | ReaderSplit) -> Numbered:
    return split.split.split_id, split.number


@dataclass(frozen=True, slots=True)
class SplitLease:
    """The lease of a reader's splits, in seconds of its own clock (docs/internals/protocol.md,
    "Leases and fencing of splits"). No record may be returned at or after `until`, a deadline that
    the request of `sent_at` has set.
    """

    until: float = -inf
    sent_at: float = -inf

    def renewed(self, sent_at: float, lease_ms: int, now: float, *, settled: bool) -> "SplitLease":
        """Return the lease after a response at `now` to the request of `sent_at`. A lease that has
        ended is renewed only by a later request, if the coordinator knows all owners (`settled`).
        """
        if sent_at < self.sent_at or (self.is_over(now) and not (settled and sent_at >= self.until)):
            return self
        return SplitLease(sent_at + lease_ms / 1000 * (1 - RATE_ERROR), sent_at)

    def is_over(self, now: float) -> bool:
        return now >= self.until


def standing(
    state: ReaderState, before: SourceStatus, returning: list[ReaderSplit], *, settled: bool, disorder: int, joint: bool
) -> SourceStatus:
    """Return the status to report for the reader's `state`, after the status `before`.

    The watermark of a split is the one that its records have generated, or the event time of its
    next record − 1 − out-of-orderness if that is higher, or a split before a gap in event time
    would block the group forever. The watermark of the reader is the lowest of its splits that are
    not idle; a split that has had no record yet is left out if another one has. The proposed target
    (`reach`) is offered once each split has had a record.

    `disorder` is the out-of-orderness in ms. `returning` has the splits that the coordinator has
    not taken back yet. `settled` is False while it delays the assignment of splits. `joint` is set
    if the group uses proposed targets.
    """
    if state.ended or not (state.held or returning):
        return NOBODY_HELD if settled or state.ended else before
    idle = state.idle
    splits = {each.split.split_id: _report(each, disorder, idle=idle or each.idle) for each in state.held}
    splits |= {each.split.split_id: _report(each, disorder, idle=each.idle) for each in returning}
    holding = [report.watermark for report in splits.values() if report.state is not SplitState.IDLE]
    shown = [watermark for watermark in holding if watermark > MIN]
    if not holding:
        return SourceStatus(MIN, None, splits, idle=True)
    if not shown:
        return SourceStatus(before.watermark, None, splits, idle=before.idle)
    lowest = min(shown)
    offers = joint and len(shown) == len(holding) and state.reach > lowest
    return SourceStatus(lowest, state.reach if offers else None, splits)


def _report(split: ReaderSplit, disorder: int, *, idle: bool) -> SplitReport:
    state = SplitState.IDLE if idle else SplitState.PAUSED if split.paused else SplitState.ACTIVE
    watermark, position = split.watermark, split.split.starting_offset
    if split.next_time is not None:
        watermark = max(split.watermark, add(split.next_time, -1 - disorder))
    return SplitReport(watermark=watermark, state=state, position=position if position >= 0 else None)
