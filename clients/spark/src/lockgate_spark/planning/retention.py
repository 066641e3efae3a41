"""Extends plans by the records of paused splits that Kafka is about to delete. These records are
read early, although they are above the ceiling (`docs/guide/uneven-partitions.md`).

A record is in danger when less than `margin` (a share, such as 0.1) of its topic's retention is
left. Kafka deletes whole segments, oldest first, when their last record is due. So its look-up by
time finds the first record of a log that is not in danger.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from lockgate.duration import spoken
from lockgate.plan.model import Head, Plan, PlannedState, SplitPlan
from lockgate.watermark import MAX
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import KafkaRequests, Offsets
from lockgate_spark.logs.topics import TopicConfig, topic_of
from lockgate_spark.logs.unread import Key, Unread, counts, named
from lockgate_spark.planning.steps import Look, Planned

log = logging.getLogger("lockgate")

RETENTION_MARGIN = 0.1  # the last tenth
_GOOD_FOR_MS = 10_000  # the edge moves with the clock; Kafka itself looks every five minutes
_LOGGED_AGAIN_MS = 600_000
MOST_STAMPS_ASKED = 3  # requests of one look for the oldest timestamp
_FINE_MS = 60_000  # a minute is as exact as anybody needs
_COARSE = 100  # the result is returned once it is exact to this part of the time searched


class Edge(NamedTuple):
    """The result of looking up which records Kafka is about to delete, at `asked_at` (wall clock in
    ms). `safe_from` maps splits to the first offset that is not in danger. `kept` maps those with
    `retention.bytes` to the end of their log and the number of offsets before it that Kafka keeps,
    if all records have the same size.
    """

    asked_at: int
    safe_from: Offsets
    kept: Mapping[str, tuple[int, int]]


class Retained(NamedTuple):
    """The paused `split` whose next unread record Kafka deletes first, and the wall-clock time (ms)
    until which Kafka keeps this record.
    """

    until: int
    split: str


class OldestStamp:
    """Searches for the oldest Kafka timestamp among the first unread records of a source's splits,
    which tells what Kafka deletes first if event time is in the payload. It is found by bisection
    with Kafka's look-up by time, one request for all splits, and is never later than the real one.
    """

    def __init__(self) -> None:
        self._low = 0  # no record of `_heads` is stamped before it, as far as that matters
        self._high: int | None = None  # one of them is
        self._holder = ""  # its split
        self._heads: Mapping[str, int] = {}

    def look(self, requests: KafkaRequests, heads: Offsets, since: int, now: int) -> tuple[int, str] | None:
        """Continue the search with at most `MOST_STAMPS_ASKED` requests, at `now` (wall clock, ms).
        Return the oldest timestamp (ms) and its split; None until it is known well enough. `heads`
        has the first unread offset of each split. Timestamps before `since` (ms) count as `since`.
        """
        self._meet(heads, since)
        for _ in range(MOST_STAMPS_ASKED):
            upper = now if self._high is None else self._high
            if upper - self._low <= _FINE_MS:
                break
            middle = (self._low + upper) // 2
            first = requests.first_at(middle)
            before = [split for split, offset in heads.items() if split not in first or first[split].offset > offset]
            if before:
                self._high, self._holder = middle, min(before)
            else:
                self._low = middle
        if not heads or self._high is None or self._high - self._low > max(_FINE_MS, (now - since) // _COARSE):
            return None
        return self._low, self._holder

    def _meet(self, heads: Offsets, since: int) -> None:
        """Adjust the bounds of the search to the new first unread records, `heads`. Later records
        of a split are assumed to have the same or later timestamps, so the lower bound still holds
        unless a split is new or was set back. The upper bound holds while its record is unread.
        """
        if any(offset < self._heads.get(split, offset + 1) for split, offset in heads.items()):
            self._low = 0
        if self._high is not None and heads.get(self._holder) != self._heads.get(self._holder):
            self._high = None
        self._heads = dict(heads)
        self._low = max(self._low, since)
        if self._high is not None and self._high <= self._low:
            self._high = self._low + 1  # it is due by now


def read_early(plan: Plan[Key], look: Look, safe_from: Mapping[Key, int]) -> Plan[Key]:
    """Return `plan`, extended by those records of its paused splits that Kafka is about to delete,
    as far as the sources' budgets allow. `safe_from` is what `Retention.look` has returned.
    """
    ends, splits = look.unread.ends, dict(plan.splits)
    left = {i: MAX if budget is None else budget for i, budget in look.answers.budgets.items()}
    for (i, _), made in splits.items():
        left[i] -= made.end - made.position
    for key in sorted(plan.paused if safe_from else (), key=lambda key: (splits[key].next or Head(0, MAX)).event_time):
        made, end = splits[key], ends[key[0]][key[1]]
        taken = min(left[key[0]], min(safe_from.get(key, 0), end) - made.end)
        if taken > 0:
            left[key[0]] -= taken
            state = PlannedState.PAUSED if made.end + taken < end else PlannedState.ACTIVE
            splits[key] = made._replace(end=made.end + taken, next=None, state=state)
    return replace(plan, splits=splits)


class Retention:
    """Finds the records of one run that are in danger: those with less than the share `margin` of
    their retention left. Counts those that are read early. If `tells`, the run reports to a group,
    so the timestamps that `retained` needs are looked up.
    """

    def __init__(self, margin: float, *, tells: bool = False) -> None:
        self._margin, self._tells = margin, tells
        self._stamps: dict[tuple[int, int], OldestStamp] = {}  # by source and retention
        self._stamped: dict[int, list[Retained]] = {}  # by source, where event time is in the payload
        self._edges: dict[int, Edge] = {}
        self._before: dict[int, Edge] = {}  # the one before each of these, for how fast logs grow
        self._known: Mapping[Key, SplitPlan] = {}  # the last plan
        self._logged_at: dict[Key, int] = {}
        self._read_early: Counter[Key] = Counter()

    def look(self, plan: Plan[Key], unread: Unread, now: int) -> dict[Key, int]:
        """Return the first offset of each split with retention that is not in danger; nothing if
        `plan`, which was cut at the ceiling, pauses no split. `now` is the wall-clock time in ms.
        """
        for source in unread.sources.values():
            source.log.topics.meet(now)
        if not self._margin or not plan.paused:
            return {}
        return {(i, split): at for i in unread.sources for split, at in self._safe_from(i, unread, plan, now).items()}

    def retained(self, plan: Plan[Key], unread: Unread) -> dict[int, Retained]:
        """Return what Kafka deletes first of the splits paused by `plan`, for each source for which
        this is known. This makes no request.
        """
        found = dict[int, Retained]()
        for (i, split), made in plan.splits.items():  # thousands, with each plan
            if made.state is not PlannedState.PAUSED:
                continue
            due, kafka = list[Retained](), unread.sources[i].log
            if made.next is not None:
                kept_ms = kafka.topics.of(split).retention_ms
                if kept_ms is not None and not kafka.in_payload:
                    due.append(Retained(made.next.event_time + kept_ms, split))
                if (by_size := self._by_size(i, split, made.next.offset)) is not None:
                    due.append(Retained(by_size, split))
            for until, first in (*due, *self._stamped.get(i, ())):
                if until < MAX and (i not in found or until < found[i].until):
                    found[i] = Retained(max(0, until), first)
        return found

    def _by_size(self, i: int, split: str, offset: int) -> int | None:
        """Return the wall-clock time (ms) from which Kafka may delete the record at `offset`
        because of `retention.bytes`, at the log's present rate of growth; None if that is unknown.
        """
        last, before = self._edges.get(i), self._before.get(i)
        if last is None or before is None or split not in last.kept or split not in before.kept:
            return None
        end, offsets = last.kept[split]
        grown, apart_ms = end - before.kept[split][0], last.asked_at - before.asked_at
        if grown <= 0 or apart_ms <= 0:
            return None
        return last.asked_at + max(0, offset - (end - offsets)) * apart_ms // grown

    def note(self, planned: Planned, now: int) -> dict[Key, int]:
        """Log and count the offsets that `planned`, which is carried out, reads early, and return
        their number by split. `now` is the wall-clock time in ms.
        """
        self._known = made = planned.plan.splits
        cut = planned.cut.splits
        early = {key: each.end - cut[key].end for key, each in made.items() if each.end > cut[key].end}
        self._read_early.update(early)
        for key, offsets in early.items():
            if now - self._logged_at.get(key, -_LOGGED_AGAIN_MS) < _LOGGED_AGAIN_MS:
                continue
            self._logged_at[key], kafka = now, planned.look.unread.sources[key[0]].log
            config = kafka.topics.of(key[1])
            log.warning(
                "%s: reading early from offset %d to %d, although it is paused, because Kafka %s (%s). Older rows of "
                "other partitions may become late. Raise the topic's retention, or speed up what is behind",
                named(key, made),
                cut[key].end,
                cut[key].end + offsets,
                # nothing tells when Kafka has stamped a record with its event time in the payload
                _due(None if kafka.in_payload else cut[key].next, config, now),
                _described(config),
            )
        return early

    def sum_up(self) -> None:
        """Log how many offsets of each partition were read early."""
        if self._read_early:
            read = counts(self._read_early, self._known)
            log.info("offsets read early because of retention, by partition: %s", read)

    def _look_at_stamps(self, i: int, unread: Unread, plan: Plan[Key], now: int) -> None:
        """Look up the oldest Kafka timestamp of the next records of the paused splits of source
        `i`, whose event time is in the payload, and store when Kafka may delete these records.
        """
        heads, kafka = dict[int, Offsets](), unread.sources[i].log
        for j, split in plan.paused:
            kept_ms = kafka.topics.of(split).retention_ms if j == i else None
            if kept_ms is not None:
                heads.setdefault(kept_ms, {})[split] = plan.splits[j, split].end
        self._stamped[i] = []
        for kept_ms, of in heads.items():
            stamps = self._stamps.setdefault((i, kept_ms), OldestStamp())
            oldest = stamps.look(kafka.requests, of, max(0, now - kept_ms), now)
            if oldest is not None:
                self._stamped[i].append(Retained(oldest[0] + kept_ms, oldest[1]))

    def _safe_from(self, i: int, unread: Unread, plan: Plan[Key], now: int) -> Offsets:
        known = self._edges.get(i)
        if known is None or not 0 <= now - known.asked_at < _GOOD_FOR_MS:
            if known is not None:
                self._before[i] = known
            kafka = unread.sources[i].log
            known = self._edges[i] = _edge(kafka, unread.ends[i], self._margin, now)
            if self._tells and kafka.in_payload:
                self._look_at_stamps(i, unread, plan, now)
        return known.safe_from


def _edge(kafka: KafkaSplitLog, ends: Offsets, margin: float, now: int) -> Edge:
    """Look up the first offset that is not in danger in each split with retention. With
    `retention.bytes`, it is an estimate from the log's size, and there is none if no broker reports
    the size.
    """
    kafka.topics.refresh(now)
    of = {split: kafka.topics.of(split) for split in ends}
    found, kept = Offsets(), dict[str, tuple[int, int]]()
    for retention in {config.retention_ms for config in of.values() if config.retention_ms is not None}:
        first_safe = kafka.requests.first_at(now - retention + int(margin * retention))
        found |= {
            split: first_safe[split].offset if split in first_safe else MAX
            for split, config in of.items()
            if config.retention_ms == retention
        }
    if most := {split: config.retention_bytes for split, config in of.items() if config.retention_bytes is not None}:
        sizes, begins, last = kafka.requests.sizes(), kafka.requests.begins(), kafka.requests.uncommitted_ends()
        for split, size in most.items():
            if split in sizes:
                kept[split] = last[split], int(size * (last[split] - begins[split]) / max(1, sizes[split]))
                found[split] = max(last[split] - int((1 - margin) * kept[split][1]), found.get(split, 0))
            else:
                unknown = "no broker reports the size of its logs, so records near retention.bytes are not read early"
                kafka.topics.warn(topic_of(split), unknown)
    return Edge(now, found, kept)


def _due(head: Head | None, config: TopicConfig, now: int) -> str:
    if head is None or config.retention_ms is None:
        return "is about to delete these records"
    left = head.event_time + config.retention_ms - now
    return f"may delete them in {spoken(left)}" if left > 0 else "may delete them at any moment"


def _described(config: TopicConfig) -> str:
    lasts = None if config.retention_ms is None else f"retention.ms is {spoken(config.retention_ms)}"
    size = None if config.retention_bytes is None else f"retention.bytes is {config.retention_bytes:,}"
    return ", ".join(limit for limit in (lasts, size) if limit is not None)
