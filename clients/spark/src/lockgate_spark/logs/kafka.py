"""The split logs of one Kafka source: Kafka's time look-ups, and what was learned from them so far.

Event time is Kafka's record timestamp. One look-up (ListOffsets by time) gives, for all splits at once, the first record of *at
least* a time, counted from the log's start. Where that lies below the position, a record with a later time was read already:
either the split is ahead of that time, which its first unread record tells, or its log is out of order there, and then the place
is found by reading single records.

All calls to Kafka go through `KafkaLog.java`, with the source's own `kafka.*` options.
"""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from lockgate.planner import Head
from lockgate.watermark import MIN

Offsets = dict[str, int]
"""Offset by split, the split named as in `KafkaPartitionSplit.split_id`."""

_PATIENCE_MS = 60_000  # as long as Kafka's own default.api.timeout.ms


class JvmKafkaLog(Protocol):
    """`KafkaLog.java`, as Python sees it; the bytes hold pairs of longs, one pair a split."""

    def setSplits(self, lines: str) -> None: ...  # noqa: N802 – a Java method
    def firstAt(self, event_time: int) -> bytes: ...  # noqa: N802
    def highest(self) -> bytes: ...
    def begins(self) -> bytes: ...
    def uncommittedEnds(self) -> bytes: ...  # noqa: N802
    def read(self, ranges: bytes, patience_ms: int) -> bytes: ...
    def readsCommitted(self) -> bool: ...  # noqa: N802
    def close(self) -> None: ...


@dataclass(slots=True)
class _Learned:
    """What is known of one split."""

    head: tuple[int, Head | None] | None = None  # for which position, and the first record there
    highest: int | None = None  # event time, below the end
    highest_at: Head | None = None  # as last answered; it may lie at or beyond the end
    known_until: int = MIN
    caught_up_since: int | None = None


@dataclass
class KafkaSplitLog:
    """What one source's splits hold. Not thread-safe: a query plans on one thread."""

    jvm: JvmKafkaLog
    look_ups: int = 0
    _order: list[str] = field(default_factory=list)
    _learned: dict[str, _Learned] = field(default_factory=dict)
    _last_target: int | None = None
    _highest_is_fresh: bool = False
    _highest_was_needed: bool = False

    def follow(self, splits: Iterable[str]) -> None:
        """Sets the splits that all other calls are about."""
        wanted = sorted(splits)
        if wanted != self._order:
            self._order = wanted
            self._learned = {split: self._learned.get(split, _Learned()) for split in wanted}
            self.jvm.setSplits("\n".join("\t".join(split.rpartition("-")[::2]) for split in wanted))

    def follows(self, splits: Iterable[str]) -> bool:
        """Whether these are the splits that all other calls are about."""
        return sorted(splits) == self._order

    def begins(self) -> Offsets:
        """Where each log begins."""
        return {split: head.offset for split, head in self._ask(self.jvm.begins()).items()}

    @property
    def asks_before_ends(self) -> bool:
        """Whether `before_ends` will ask Kafka."""
        return self._highest_was_needed

    def before_ends(self) -> None:
        """To be called before the ends are asked for: the highest event times, asked now, lie below them. Only if the last plan
        wanted them: a replay does not.
        """
        if self._highest_was_needed:
            self._ask_highest()
        self._highest_was_needed = False

    def uncommitted_ends(self) -> Offsets:
        """Where each log ends, open transactions and what is newer than a fixed end included."""
        return {split: head.offset for split, head in self._ask(self.jvm.uncommittedEnds()).items()}

    def witness(self, now: int, positions: Offsets, ends: Offsets, live_ends: Offsets | None, fixed_at: int | None) -> None:
        """Notes that the broker, asked after `now`, showed these ends.

        `live_ends`, asked before `ends`, tell which splits hide something: an open transaction, or what came after `ends` were fixed
        (at `fixed_at`). What is known of those stays as old as it was; where they were not asked for, fixed ends hide everything newer.
        """
        since_fixed = now if fixed_at is None else fixed_at
        hidden = MIN if self.jvm.readsCommitted() else since_fixed
        for split in self._order:
            learned, end = self._learned[split], ends[split]
            seen = since_fixed if live_ends is None else now if end >= live_ends[split] else hidden
            learned.known_until = max(learned.known_until, seen)
            if learned.highest_at is not None and learned.highest_at.offset < end:
                learned.highest = max(learned.highest_at.event_time, MIN if learned.highest is None else learned.highest)
            learned.caught_up_since = (learned.caught_up_since or now) if positions[split] >= end else None

    def known_until(self, split: str) -> int:
        """Wall clock (ms) up to which everything that was appended is visible."""
        return self._learned[split].known_until

    def caught_up_since(self, split: str) -> int | None:
        """Wall clock (ms) since when nothing is left to read."""
        return self._learned[split].caught_up_since

    def highest(self, ends: Offsets) -> dict[str, int]:
        """The highest event time below each end, as far as it is known."""
        self._highest_was_needed = True
        if not self._highest_is_fresh:
            self._ask_highest()
        for split, learned in self._learned.items():
            if learned.highest_at is not None and learned.highest_at.offset < ends[split]:
                learned.highest = learned.highest_at.event_time
        # Where the highest lies beyond the end, the last record below it is a bound as good, but for the disorder.
        unknown = {split: (ends[split] - 1, ends[split]) for split in self._order if self._learned[split].highest is None and ends[split]}
        for split, head in (self._read(unknown) if unknown else {}).items():
            self._learned[split].highest = head.event_time
        return {split: learned.highest for split, learned in self._learned.items() if learned.highest is not None}

    def heads(self, positions: Offsets, ends: Offsets) -> dict[str, Head]:
        """The first unread record of each split."""
        open_splits = [split for split in self._order if positions[split] < ends[split]]
        unknown = [split for split in open_splits if not self._remembers(split, positions[split], ends[split])]
        if unknown and self._last_target is not None:
            for split, head in self._first_at(self._last_target + 1).items():
                if head.offset == positions[split]:
                    self._learned[split].head = (head.offset, head)
            unknown = [split for split in unknown if not self._remembers(split, positions[split], ends[split])]
        if unknown:
            found = self._read({split: (positions[split], ends[split]) for split in unknown})
            for split in unknown:
                self._learned[split].head = (positions[split], found.get(split))
        heads = {split: self._learned[split].head for split in open_splits}
        return {split: known[1] for split, known in heads.items() if known is not None and known[1] is not None}

    def first_after(self, event_time: int, positions: Offsets, ends: Offsets) -> dict[str, Head]:
        """For each split its first unread record above `event_time`. `heads` must have been asked for the same positions."""
        found = {}
        for split, head in self._first_at(event_time + 1).items():
            if head.offset >= ends[split] or positions[split] >= ends[split]:
                continue
            above = head if head.offset >= positions[split] else self._above(split, event_time, positions[split], ends[split])
            if above is not None:
                found[split] = above
        return found

    def planned(self, target: int, next_heads: Mapping[str, Head]) -> None:
        """Notes the plan that was made: its target and, by split, the records that it stops at."""
        self._last_target = target
        self._highest_is_fresh = False
        for split, head in next_heads.items():
            self._learned[split].head = (head.offset, head)

    def close(self) -> None:
        """Closes the connections to Kafka."""
        self.jvm.close()

    def _ask_highest(self) -> None:
        for split, head in self._ask(self.jvm.highest()).items():
            self._learned[split].highest_at = head
        self._highest_is_fresh = True

    def _remembers(self, split: str, position: int, end: int) -> bool:
        known = self._learned[split].head
        return known is not None and known[0] == position and known[1] is not None and known[1].offset < end

    def _above(self, split: str, event_time: int, position: int, end: int) -> Head | None:
        """The log is out of order below the position, so look-ups say nothing here: halving, by reading single records."""
        known = self._learned[split].head
        if known is not None and known[1] is not None and known[1].event_time > event_time:
            return known[1]
        low, high, found = position, end, None
        while low < high:
            middle = (low + high) // 2
            head = self._read({split: (middle, end)}).get(split)
            if head is None or head.event_time > event_time:
                high, found = middle, head if head is not None else found
            else:
                low = head.offset + 1
        return found

    def _first_at(self, event_time: int) -> dict[str, Head]:
        return self._ask(self.jvm.firstAt(max(0, event_time)))  # below 0 the protocol has other meanings

    def _read(self, ranges: Mapping[str, tuple[int, int]]) -> dict[str, Head]:
        values = [value for split in self._order for value in ranges.get(split, (-1, -1))]
        return self._ask(self.jvm.read(struct.pack(f">{len(values)}q", *values), _PATIENCE_MS))

    def _ask(self, packed: bytes) -> dict[str, Head]:
        self.look_ups += 1
        values = iter(struct.unpack(f">{len(packed) // 8}q", packed))
        return {split: Head(offset, time) for split, offset, time in zip(self._order, values, values, strict=True) if offset >= 0}
