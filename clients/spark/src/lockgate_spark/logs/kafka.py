"""Looks up offsets and event times in the Kafka partitions of one source, and stores the findings.

**Look-ups.** If event time is Kafka's record timestamp, one look-up (ListOffsets by time) covers
all splits. It returns the first record of each whole log with a timestamp at or above a given time.
If this record lies below the position (the next offset to read), the first unread record shows
whether the split is ahead of that time, or its log out of order. A record stamped 2099 hides all
records after it. In these cases, and if event time is in the payload, the split is searched by
reading single records (`crossing`), which are kept (`points`).

**Markers.** For a look-up, the marker at the end of a transaction is a record with the broker's
time, and hides all older records after it. Therefore lockgate reads the first unread records, those
with the highest event times (`highest`), and those at which a plan would stop (`confirm`). Once
look-ups have returned such markers (`_distrust_look_ups`), a look-up's result is only the offset at
which reading begins.

**Bound.** After `MOST_READS` reads of single records, or `MOST_READS_OF_PAYLOADS`, a plan ends its
search (`read_budget_spent`), and uses a smaller batch if it has one. It may still have to find up
to four event times in each log, each in at most 2 · log2(unread offsets) reads.
"""

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from heapq import nlargest
from typing import Any

from lockgate.plan.model import Head
from lockgate.watermark import MIN, add
from lockgate_spark.event_times import Credible
from lockgate_spark.logs.crossing import Crossing, Ranges, Reading, search
from lockgate_spark.logs.highest import settle
from lockgate_spark.logs.points import Learned
from lockgate_spark.logs.requests import KafkaRequests, Offsets
from lockgate_spark.logs.topics import TopicConfigs

log = logging.getLogger("lockgate")

MOST_READS, MOST_READS_OF_PAYLOADS = 64, 12  # of single records in one plan
SAMPLED = 4  # splits that one sample of the out-of-orderness inspects
MOST_CONFIRMED = 64  # splits in which a plan reads the stop that only a look-up has returned
MOST_ANEW = 2  # times that a plan is made again for markers that hide little
_MARKER_LAG_MS = 1_000  # a marker that is later than its records by no more hides nothing worth a read


class KafkaSplitLog:
    """Looks up offsets and event times in the Kafka partitions of one source, by `jvm`, a
    `KafkaLog.java`. `in_payload` says whether event time is in the payload. Not thread-safe: only
    one thread at a time may plan a query.

    `learned` maps each split to the findings about it so far, and `asks_before_ends` says whether
    `ask_ends` will first ask Kafka for the highest event times.
    """

    def __init__(self, jvm: Any, *, in_payload: bool = False) -> None:
        self.in_payload, self.credible = in_payload, Credible()
        self.requests = KafkaRequests(jvm)
        self.topics = TopicConfigs(self.requests)
        self.learned: dict[str, Learned] = {}
        self.asks_before_ends = self._highest_is_fresh = False
        # Kafka cannot look up event times in payloads
        self._distrusts_look_ups, self._names_highest = in_payload, not in_payload
        self._reads = self._anew = 0  # of this plan: reads of single records, stops that were wrong
        self._last_sampled = ""
        # the result of the last call of `heads`, and its arguments
        self._heads: dict[str, Head] = {}
        self._heads_asked: tuple[Offsets, Offsets] | None = None

    def set_splits(self, splits: Iterable[str]) -> bool:
        """Set the splits that all other calls refer to. Return whether they have changed."""
        wanted = sorted(splits)
        if wanted == self.requests.order:
            return False
        self.learned = {split: self.learned.get(split, Learned()) for split in wanted}
        self.requests.set_splits(wanted)
        return True

    def begin_plan(self, credible: Credible) -> None:
        """Begin a plan that considers only event times in the range `credible`."""
        self._reads = self._anew = 0
        self._heads_asked = None
        if credible != self.credible:
            self.credible = credible
            self.requests.set_credible(credible)

    @property
    def read_budget_spent(self) -> bool:
        """Whether this plan has reached the limit on reads of single records."""
        return self._reads >= (MOST_READS_OF_PAYLOADS if self.in_payload else MOST_READS)

    def ask_ends(self, ends: Callable[[], Offsets], live: bool = False) -> tuple[Offsets, Offsets | None]:
        """Ask where the logs end by calling `ends`, and return the answer with the uncommitted ends
        (None unless `live`). All further calls refer to the splits that `ends` returns. The highest
        event times, if the last plan used them, and the uncommitted ends must not be newer than the
        ends, so they are requested first.
        """
        if self.asks_before_ends:
            self._ask_highest()
        self.asks_before_ends = False
        uncommitted = self.requests.uncommitted_ends() if live else None
        found = ends()
        if self.set_splits(found) and live:
            uncommitted = self.requests.uncommitted_ends()
        return found, uncommitted

    def note_ends(
        self, now: int, positions: Offsets, ends: Offsets, live_ends: Offsets | None = None, fixed_at: int | None = None
    ) -> None:
        """Update each split from the ends that Kafka returned after `now` (wall clock in ms): the
        time since which the position has been at the end (`caught_up_since`), and that up to which
        all appends to the split are below its end (`known_until`).

        Under Trigger.AvailableNow, the ends were fixed at the wall-clock time `fixed_at` (ms). The
        live ends include later records and open transactions. `known_until` rises

        * to `now` if the live end of a split is not above its end: all appends are known;
        * not at all if the live end is above it and the source reads only committed records,
          because an open transaction may have begun at any time;
        * otherwise, and if live ends were not requested, to `fixed_at`, or to `now` if the ends are
          not fixed.
        """
        since_fixed = now if fixed_at is None else fixed_at
        hidden = MIN if self.requests.reads_committed else since_fixed
        for split in self.requests.order:
            learned, end = self.learned[split], ends[split]
            live = end if live_ends is None else live_ends.get(split, end)
            learned.readable_to = end if fixed_at is None or self.requests.reads_committed else max(end, live)
            seen = since_fixed if live_ends is None else now if end >= live else hidden
            learned.known_until = max(learned.known_until, seen)
            learned.highest.ends_at(end, self.credible)
            learned.caught_up_since = (learned.caught_up_since or now) if positions[split] >= end else None

    def clock_moved(self, by: int) -> None:
        """Shift all recorded wall-clock times by `by` ms, because the clock itself was shifted."""
        for learned in self.learned.values():
            learned.known_until = add(learned.known_until, by)
            learned.caught_up_since = None if learned.caught_up_since is None else learned.caught_up_since + by

    def highest(self, ends: Offsets) -> dict[str, int]:
        """Return the highest known event time (ms) among the records below each split's end. It may
        be too low, but never too high.
        """
        self.asks_before_ends = True
        if not self._highest_is_fresh:
            self._ask_highest()
        settle({split: learned.highest for split, learned in self.learned.items()}, ends, self.credible, self._read)
        return {split: head.event_time for split, head in self.last_met(ends).items()}

    def last_met(self, ends: Offsets) -> dict[str, Head]:
        """Return the record of each split with the highest event time that lockgate has read, if it
        is below the split's end. This makes no request.
        """
        met = {split: learned.highest.record for split, learned in self.learned.items()}
        return {split: head for split, head in met.items() if head is not None and head.offset < ends[split]}

    def heads(self, positions: Offsets, ends: Offsets) -> dict[str, Head]:
        """Return the first credible unread record of each split that has one."""
        if self._heads_asked == (positions, ends):
            return self._heads
        order = self.requests.order
        unread = {split: (positions[split], ends[split]) for split in order if positions[split] < ends[split]}
        if unknown := {split: at for split, at in unread.items() if not self.learned[split].knows_head(*at)}:
            for split, reading in self._read(unknown).items():
                learned = self.learned[split]
                learned.position, learned.head = positions[split], reading.head()
                learned.blank = ends[split], reading.until
        for split in order:
            self.learned[split].forget_below(positions[split])
        self._heads = {split: head for split in unread if (head := self.learned[split].head) is not None}
        for split, head in self._heads.items():
            self.learned[split].points.start(head)
        self._heads_asked = (dict(positions), dict(ends))
        return self._heads

    def first_after(self, event_time: int, positions: Offsets, ends: Offsets) -> dict[str, Head]:
        """Return, for each split that has one, the first unread record above `event_time` (ms)."""
        self.heads(positions, ends)
        answers: Mapping[str, Head | None] = dict.fromkeys(self.requests.order)
        if not self.in_payload:
            answers = found_at = self.requests.first_at(min(event_time, self.credible.latest) + 1)
            if any(
                self._takes_for_record(head) and self.learned[split].points.lacks(head, _MARKER_LAG_MS)
                for split, head in found_at.items()
            ):
                self._distrust_look_ups()
                self.heads(positions, ends)
        found, crossings = dict[str, Head](), dict[str, Crossing]()
        for split, head in answers.items():
            learned, low = self.learned[split], positions[split]
            if low >= ends[split] or (head is not None and head.offset >= ends[split]):
                continue
            if head is not None:
                self._meet(split, head)
                there, seen = learned.named.get(head.offset, (head, head.offset))
                trusted = head.offset >= low and self._takes_for_record(head)
                if trusted and there is not None and there.event_time > event_time:
                    found[split] = Head(head.offset, there.event_time)
                    continue
                low = max(low, seen)
            if learned.head is None:
                continue
            if learned.head.event_time > event_time:
                found[split] = learned.head
                continue
            below, above = learned.points.around(event_time, ends[split])
            below = learned.head if below is None else max(below, learned.head)
            low, pace = max(low, below.offset + 1), learned.points.pace
            crossings[split] = Crossing(event_time, low, ends[split], below, above, pace, learned.window)

        def read(ranges: Ranges) -> Mapping[str, Reading]:
            self._reads += 1
            return self._read(ranges, event_time)

        search(crossings, read)
        return found | {split: each.above for split, each in crossings.items() if each.above is not None}

    def confirm(self, target: int, stops: Mapping[str, Head], ends: Offsets) -> bool:
        """Read the logs at `stops`, the records at which a plan would stop, and return whether the
        first credible record at each one is above `target` (ms), as a look-up has claimed. If not,
        the look-up has returned a marker that hides older records, and the plan has to be made
        again. Each stop is read once, and only the `MOST_CONFIRMED` furthest above `target`.
        """
        if self._distrusts_look_ups:
            return True
        unsure = {split: head for split, head in stops.items() if not self.learned[split].has_read(head)}
        if furthest := nlargest(MOST_CONFIRMED, unsure, key=lambda split: unsure[split].event_time):
            readings = self._read({split: (unsure[split].offset, ends[split]) for split in furthest})
            for split, reading in readings.items():
                self.learned[split].named[unsure[split].offset] = (reading.head(), reading.until)
        named = [
            self.learned[split].named[head.offset][0]
            for split, head in stops.items()
            if head.offset in self.learned[split].named
        ]
        if all(there is not None and there.event_time > target for there in named):
            return True
        self._anew += 1
        hidden_ms = max((target - there.event_time for there in named if there is not None), default=0)
        if hidden_ms > _MARKER_LAG_MS or self._anew > MOST_ANEW:
            self._distrust_look_ups()
        return False

    def sample(self, positions: Offsets, ends: Offsets) -> None:
        """Measure the out-of-orderness of some consecutive unread records in the next `SAMPLED`
        splits, unless Kafka fails or does not answer within a second.
        """
        open_ = [split for split in self.requests.order if ends[split] - positions[split] > 1]
        later = bisect_right(open_, self._last_sampled)
        if not (turn := (open_[later:] + open_[:later])[:SAMPLED]):
            return
        self._last_sampled = turn[-1]
        seen = self.requests.sample({split: (positions[split], ends[split]) for split in turn})
        for split, (disorder, lowest, highest, stop) in seen.items():
            self.learned[split].points.sample(positions[split], stop, disorder, lowest, highest)

    def remember_plan(self, next_heads: Mapping[str, Head]) -> None:
        """Remember the first record that a plan leaves unread in each split, for the next plan."""
        self._highest_is_fresh = False
        for split, head in next_heads.items():
            learned = self.learned[split]
            there, _ = learned.named.get(head.offset, (head, head.offset))
            if there is not None:
                learned.position, learned.head = head.offset, Head(head.offset, there.event_time)

    def _ask_highest(self) -> None:
        named = self.requests.highest() if self._names_highest else {}
        if self.requests.order and self._names_highest and named is None:
            self._names_highest = False
            log.info("the brokers do not support look-ups of the highest timestamp: lockgate reads the last records")
        named = named or {}
        for split, learned in self.learned.items():
            learned.highest.named = named.get(split)
        for split, head in named.items():
            self._meet(split, head)
        self._highest_is_fresh = True

    def _takes_for_record(self, head: Head) -> bool:
        """Return whether to assume that `head`, the result of a look-up, is a record."""
        return not self._distrusts_look_ups and self.credible.has(head.event_time)

    def _distrust_look_ups(self) -> None:
        """Stop taking the results of look-ups for records, and forget those taken so far."""
        self._distrusts_look_ups = True
        log.info("Kafka's look-ups by timestamp return transaction markers, so lockgate reads records instead")
        self._heads_asked = None
        for learned in self.learned.values():
            learned.position = -1
            learned.points.forget()

    def _meet(self, split: str, head: Head) -> None:
        if not self.credible.has(head.event_time):
            self.learned[split].points.meet(head)

    def find(self, ranges: Ranges, credible: Credible | None = None) -> dict[str, Reading]:
        """Return, for each range of offsets, the reading of the first record whose event time is
        in the range `credible`; by default, in that of the plan. The readings are not kept in
        `learned`.
        """
        if not ranges:
            return {}
        self.requests.set_credible(credible or self.credible)
        try:
            return self.requests.read(ranges, MIN)
        finally:
            self.requests.set_credible(self.credible)

    def _read(self, ranges: Ranges, target: int = MIN) -> dict[str, Reading]:
        """Read the first credible record in each range of offsets, and update `learned`."""
        readings = self.requests.read(ranges, target)
        for split, reading in readings.items():
            learned, (start, end) = self.learned[split], ranges[split]
            learned.points.note(reading)
            learned.highest.learn(start, reading)
            if reading.found is not None and 0 < reading.seen < end:
                learned.window = reading.seen - reading.found.offset
        return readings
