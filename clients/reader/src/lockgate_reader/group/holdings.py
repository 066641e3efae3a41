"""The splits that a reader is to hold: what it says of them, and what the coordinator's answers
make of it. Pure: nothing is sent here, and no clock is read.

Both sides state levels. The reader names all that it has, and the answer names what is new and what
must go. What was not named, and is not new either, is not the reader's any more. An answer that is
lost changes nothing: the reader says the same again. The revision of the last answer goes along
with each exchange: by that a coordinator sees whether its store has lost something.

    in the answer       becomes, for the consumer
    add_splits          a split more in `assigned`, under its number
    give_back           the same split, to be drained and returned
    stop                a split less: it is dropped at once
    (given back)        a split less, once an answer has come to the exchange that gave it back

A split that is to go before the consumer has seen that it came is given back from here. A split
that begins at the word *latest* is *unresolved* until its offset was in an exchange that was
answered: what it handed out before would be left out by the next owner, who would begin later.

Used by `joined`, whose thread alone changes it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, cast

from lockgate.flink.splits import LATEST_OFFSET, KafkaPartitionSplit
from lockgate.wire import split_events as wire
from lockgate.wire.split_events import DiscoveredSplits, SourceEvent, SplitAnswer, SplitExchange
from lockgate_reader.place import AssignedSplit, ReaderSplit, ReaderState

Numbered = tuple[str, int]
"""A split's id, and the number of its assignment."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the consumer said last. `held`: taken when it said so."""

    state: ReaderState
    held: tuple[ReaderSplit, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceWishes:
    """What a reader wants of its source. `start`: where the first splits begin, as a word.
    `discovery_ms`: how often it looks for new ones; 0: once. `bounded`: what it finds is all.
    """

    start: int
    discovery_ms: int = 0
    bounded: bool = False


class Holdings:
    """The splits of one reader. `assigned`: by id; None before the first answer. `discover`: the
    number of the latest request to list the topics' splits. `settled`: the coordinator assigns.
    """

    def __init__(self, wishes: SourceWishes, name: str) -> None:
        self.assigned: dict[str, AssignedSplit] | None = None
        self.give_back: frozenset[str] = frozenset()
        self.no_more_splits = False
        self.discover = 0
        self.settled = False
        self._wishes, self._name = wishes, name
        self._offered: frozenset[Numbered] = frozenset()  # what the consumer may have opened
        self._resolved: frozenset[Numbered] = frozenset()
        self._seen: int | None = None
        self._listed: object = None  # the discovery that was taken last
        self._request: int | None = None  # the coordinator's, for a list that has not come
        self._outgoing: list[SourceEvent] = []
        self._incoming: list[Any] = []
        self._events_seen = 0
        self._ids = count(1)

    def says(self, said: Said) -> None:
        """Take in events of the consumer's program, each once."""
        for event in said.state.source_events:
            self._outgoing.append(
                SourceEvent(id=f"{self._name}-{next(self._ids)}", event=cast(Mapping[str, Any], event))
            )

    @property
    def seen(self) -> int:
        """The revision of the last answer; 0 before the first."""
        return self._seen or 0

    @property
    def unresolved(self) -> frozenset[Numbered]:
        """The splits that begin at the latest record, wherever that is."""
        latest = (each for each in (self.assigned or {}).values() if each.split.starting_offset == LATEST_OFFSET)
        return frozenset((each.split.split_id, each.number) for each in latest) - self._resolved

    def offers(self, assigned: Iterable[AssignedSplit], give_back: frozenset[str]) -> None:
        """Note what the consumer gets as its orders: it may open these splits."""
        level = {(each.split.split_id, each.number): each.split.split_id in give_back for each in assigned}
        opened = {numbered for numbered, goes in level.items() if not goes}
        self._offered = (self._offered & level.keys()) | opened

    def events(self) -> tuple[Any, ...]:
        """Return the events for the consumer's program since the last call."""
        events, self._incoming = tuple(self._incoming), []
        return events

    def is_urgent(self, said: Said) -> bool:
        """Return whether the coordinator waits for what was said."""
        unresolved = self.unresolved
        resolves = bool(unresolved) and any(_numbered(each) in unresolved for each in said.held)
        leaves = bool(self._leaving(said) or self._unopened())
        return leaves or resolves or bool(self._outgoing) or self._discovered(said) is not None

    def returning(self, said: Said) -> list[ReaderSplit]:
        """Return what the consumer has returned and the coordinator has not taken back yet."""
        return [each for each in said.state.returned if self._is_own(each)]

    def exchange(self, said: Said, epoch: int) -> SplitExchange:
        """All that there is to say."""
        return SplitExchange(
            epoch=epoch,
            held=tuple(
                wire.NumberedSplit(split=each.split, assignment=each.number, restored=self._is_restored(each))
                for each in said.held
                if self._is_own(each)
            ),
            given_back=(*_on_the_wire(self.returning(said)), *self._unopened()),
            finished=_on_the_wire(each for each in said.state.finished if self._is_own(each)),
            request_split=said.state.wants_splits,
            discovery_interval_ms=self._wishes.discovery_ms,
            discovered=self._discovered(said),
            seen=self._seen,
            source_events=tuple(self._outgoing[: wire.SOURCE_EVENTS_KEPT]),
            source_events_seen=self._events_seen,
        )

    def farewell(self, said: Said, epoch: int) -> SplitExchange:
        """Make the last exchange, which gives back everything."""
        given_back = [each for each in (*said.held, *said.state.returned) if self._is_own(each)]
        finished = [each for each in said.state.finished if self._is_own(each)]
        return SplitExchange(
            epoch=epoch,
            given_back=_on_the_wire(given_back),
            finished=_on_the_wire(finished),
            capacity=0,
            seen=self._seen,
        )

    def answered(self, sent: SplitExchange, answer: SplitAnswer, said: Said) -> None:
        """Take in the answer to the exchange that was made of `said`."""
        added = {each.split.split_id: AssignedSplit(each.split, each.assignment) for each in answer.add_splits}
        kept = {each.split.split_id: each.assignment for each in sent.held}
        for stopped in answer.stop:
            if kept.get(stopped.split) == stopped.assignment:
                del kept[stopped.split]
        before = self.assigned or {}
        still = {name: each for name, each in before.items() if kept.get(name) == each.number}
        # A split that was added before, and that the consumer has not opened yet, is named again.
        self.assigned = still | {name: _same(before.get(name), each) for name, each in added.items()}
        self.give_back = frozenset(answer.give_back) & self.assigned.keys()
        self.no_more_splits = answer.no_more_splits
        self.settled = answer.assigning_in_ms == 0
        resolved = self._resolved | {(each.split.split_id, each.assignment) for each in sent.held}
        self._resolved = resolved & {(name, each.number) for name, each in self.assigned.items()}
        self._seen = answer.revision
        self._take_events(sent, answer)
        if sent.discovered is not None:
            self._listed, self._request = said.state.discovered, None
        if answer.discover is not None and self._request is None:
            self._request, self.discover = answer.discover, self.discover + 1

    def _take_events(self, sent: SplitExchange, answer: SplitAnswer) -> None:
        taken = {event.id for event in sent.source_events}
        self._outgoing = [event for event in self._outgoing if event.id not in taken]
        for event in answer.source_events:
            if event.number > self._events_seen:
                self._events_seen = event.number
                self._incoming.append(event.event)

    def _leaving(self, said: Said) -> bool:
        return any(self._is_own(each) for each in (*said.state.returned, *said.state.finished))

    def _unopened(self) -> list[wire.NumberedSplit]:
        """Return what is to be given back and was never offered to the consumer."""
        splits = [each for name, each in (self.assigned or {}).items() if name in self.give_back]
        return [
            wire.NumberedSplit(split=each.split, assignment=each.number)
            for each in splits
            if (each.split.split_id, each.number) not in self._offered
        ]

    def _is_own(self, held: ReaderSplit) -> bool:
        """Return whether the split is still this reader's, under this number, as far as is
        known.
        """
        own = (self.assigned or {}).get(held.split.split_id)
        return own is not None and own.number == held.number

    def _is_restored(self, held: ReaderSplit) -> bool:
        """Return whether the split is before the position that the coordinator has, and is to
        be.
        """
        own = (self.assigned or {})[held.split.split_id]
        if held.went_back:
            return True
        return 0 <= held.split.starting_offset < own.split.starting_offset

    def _discovered(self, said: Said) -> DiscoveredSplits | None:
        found = said.state.discovered
        if found is None or self._request is None or found is self._listed:
            return None
        splits = _starting(found, self._wishes.start)
        return DiscoveredSplits(splits=splits, bounded=self._wishes.bounded, request=self._request)


def _starting(found: Sequence[KafkaPartitionSplit], start: int) -> tuple[KafkaPartitionSplit, ...]:
    """Let the splits start at the word that the user chose, unless they have an offset."""
    return tuple(
        each
        if each.starting_offset >= 0
        else KafkaPartitionSplit(each.topic, each.partition, start, each.raw_stopping_offset)
        for each in found
    )


def _numbered(held: ReaderSplit) -> Numbered:
    return held.split.split_id, held.number


def _on_the_wire(splits: Iterable[ReaderSplit]) -> tuple[wire.NumberedSplit, ...]:
    return tuple(
        wire.NumberedSplit(split=each.split, assignment=each.number, restored=each.went_back) for each in splits
    )


def _same(before: AssignedSplit | None, now: AssignedSplit) -> AssignedSplit:
    """Return the split that the consumer already has, if it is the same assignment: it may be
    further on.
    """
    return before if before is not None and before.number == now.number else now
