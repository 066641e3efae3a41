"""A query's run and its sources without Spark and Kafka, for the tests of `Session`: logs are lists of event times."""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from lockgate_spark.logs.crossing import Credible
from lockgate_spark.logs.kafka import KafkaSplitLog, Offsets
from lockgate_spark.planning.gauges import Values
from lockgate_spark.planning.watermarks import QueryWatermark


@dataclass
class JvmLogInMemory:
    """`KafkaLog.java` over lists: `records[split][offset]` is a record's event time in ms."""

    records: dict[str, list[int]]
    splits: list[str] = field(default_factory=list)
    closed: bool = False
    bytes_a_record: int = 100  # below 0: nobody tells
    config: str = ""  # the values of the four keys that are asked for, tabs between
    credible: Credible = field(default_factory=Credible)
    window: int = 1  # how many records come along with one that is asked for

    def setSplits(self, lines: str) -> None:  # noqa: N802
        self.splits = ["-".join(line.split("\t")) for line in lines.splitlines()]

    def firstAt(self, event_time: int) -> bytes:  # noqa: N802
        return self._each(lambda log: next(((o, t) for o, t in enumerate(log) if t >= event_time), (-1, -1)))

    def highest(self) -> bytes:
        return self._each(lambda log: max(((o, t) for o, t in enumerate(log)), key=lambda r: (r[1], -r[0]), default=(-1, -1)))

    def begins(self) -> bytes:
        return self._each(lambda log: (0, -1))

    def uncommittedEnds(self) -> bytes:  # noqa: N802
        return self._each(lambda log: (len(log), -1))

    def configs(self, topics: str, keys: str) -> str:
        return "".join(f"{topic}\t{self.config}\n" for topic in topics.splitlines()) if self.config else ""

    def sizes(self) -> bytes:
        return self._each(lambda log: (self.bytes_a_record * len(log), -1))

    def setCredible(self, earliest: int, latest: int) -> None:  # noqa: N802
        self.credible = Credible(earliest, latest)

    def read(self, ranges: bytes, target: int, most_passed: int, patience_ms: int) -> bytes:
        values = iter(struct.unpack(f">{len(ranges) // 8}q", ranges))
        found = [self._read(split, start, end, most_passed) for split, start, end in zip(self.splits, values, values, strict=True)]
        ends = struct.unpack(f">{len(ranges) // 8}q", ranges)[1::2]
        rows = [(*row, *self._crossed(split, row, end, target)) for split, row, end in zip(self.splits, found, ends, strict=True)]
        return b"".join(struct.pack(">11q", *row) for row in rows)

    def _crossed(self, split: str, row: tuple[int, ...], end: int, target: int) -> tuple[int, ...]:
        """Where the records that came along pass `target`, by halving as the original does."""
        start, event_time = row[:2]
        if start < 0 or event_time > target:
            return (-1, -1, -1, -1, -1)
        log, low, high, above = self.records[split], start, min(end, start + self.window), -1
        seen, middle = high, high - 1
        while high - low > 1:
            at = next((offset for offset in range(middle, high) if self.credible.has(log[offset])), None)
            if at is not None and log[at] <= target:
                low = at
            else:
                high, above = middle, above if at is None else log[at]
            middle = low + (high - low) // 2
        return (low, log[low], *((high, above) if above >= 0 else (-1, -1)), seen)

    def _read(self, split: str, start: int, end: int, most_passed: int) -> tuple[int, ...]:
        log, passed = self.records[split], range(0)
        for offset in range(max(0, start), end):
            if self.credible.has(log[offset]):
                return (offset, log[offset], *self._others(log, passed), offset)
            passed = range(start, offset + 1)
            if len(passed) >= most_passed:
                return (-1, -1, *self._others(log, passed), offset + 1)
        return (-1, -1, *self._others(log, passed), end)

    def _others(self, log: list[int], passed: range) -> tuple[int, int, int]:
        return (len(passed), passed[0], log[passed[0]]) if passed else (0, -1, -1)

    def sample(self, ranges: bytes, patience_ms: int) -> bytes:
        values = iter(struct.unpack(f">{len(ranges) // 8}q", ranges))
        rows = [self._sampled(split, start, end) for split, start, end in zip(self.splits, values, values, strict=True)]
        return b"".join(struct.pack(">4q", *row) for row in rows)

    def _sampled(self, split: str, start: int, end: int) -> tuple[int, int, int, int]:
        stop = min(end, start + self.window)
        seen = [t for t in self.records[split][max(0, start) : stop] if self.credible.has(t)]
        if start < 0 or not seen:
            return -1, -1, -1, -1
        return max(high - t for high, t in zip(accumulate(seen, max), seen, strict=True)), min(seen), max(seen), stop

    def readsCommitted(self) -> bool:  # noqa: N802
        return False

    def close(self) -> None:
        self.closed = True

    def _each(self, ask: Callable[[list[int]], tuple[int, int]]) -> bytes:
        found = [value for split in self.splits for value in ask(self.records[split])]
        return struct.pack(f">{len(found)}q", *found)


class SourceInMemory:
    """One source; `records` may grow. `available_now()` fixes the ends as they are."""

    def __init__(self, records: Mapping[str, list[int]], budget: int | None = None) -> None:
        self.records = dict(records)
        self.jvm = JvmLogInMemory(self.records)
        self.log = KafkaSplitLog(self.jvm)
        self.budget = budget
        self.fixed_at: int | None = None
        self.event_time: object | None = None
        self._fixed: Offsets | None = None

    def available_now(self, now_ms: int) -> "SourceInMemory":
        self.fixed_at, self._fixed = now_ms, self._all()
        return self

    def initial(self) -> Offsets:
        return dict.fromkeys(self.records, 0)

    def comes(self, ends: Offsets, seconds: float) -> bool:
        return self._all() != ends  # without the wait

    def ends(self, start: Offsets) -> Offsets:
        return self._fixed or self._all()

    def _all(self) -> Offsets:
        return {split: len(log) for split, log in self.records.items()}


@dataclass
class RunInMemory:
    """What Spark would say of the run."""

    available_now: bool = False
    interval_s: float = 0.0
    active: bool = True
    failure: bool = False
    logged: dict[int, Offsets] = field(default_factory=dict)
    found: list[QueryWatermark] = field(default_factory=list)
    highest: bool = False

    def is_active(self) -> bool:
        return self.active

    def failed(self) -> bool:
        return self.failure

    def logged_offsets(self, source: int) -> Offsets | None:
        return self.logged.get(source)

    def logged_watermark(self) -> int | None:
        return None

    def watermarks(self) -> list[QueryWatermark]:
        return self.found

    def takes_highest(self) -> bool:
        return self.highest


class GaugesInMemory:
    """Gauges that remember what was shown; `at` calls back at the count-th time."""

    def __init__(self) -> None:
        self.values: list[dict[str, int | None]] = []
        self.closed = 0
        self._then: tuple[int, Callable[[], object]] | None = None

    def at(self, count: int, then: Callable[[], object]) -> None:
        self._then = count, then

    def show(self, values: Values) -> None:
        self.values.append(dict(values))
        if self._then is not None and len(self.values) == self._then[0]:
            self._then[1]()

    def close(self) -> None:
        self.closed += 1
