"""A query's run and its sources without Spark and Kafka, for the tests of `Session`: logs are lists
of event times.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from lockgate.plan.windows import Zone
from lockgate_spark.event_times import Credible, QueryWatermark
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Sampled
from lockgate_spark.spark_run import Memory
from lockgate_spark.telemetry.progress_metrics import Values


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
        struct.pack(">q", event_time)  # a long, as py4j has it
        return self._each(lambda log: next(((o, t) for o, t in enumerate(log) if t >= event_time), (-1, -1)))

    def highest(self) -> bytes:
        return self._each(
            lambda log: max(((o, t) for o, t in enumerate(log)), key=lambda r: (r[1], -r[0]), default=(-1, -1))
        )

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

    def sent(self, split: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The records that a consumer is sent: offset and event time of each."""
        return ((offset, self.records[split][offset]) for offset in range(max(0, start), end))

    def read(self, ranges: bytes, target: int, most_passed: int, patience_ms: int) -> bytes:
        values = iter(struct.unpack(f">{len(ranges) // 8}q", ranges))
        rows = [
            self._read(split, start, end, target, most_passed)
            for split, start, end in zip(self.splits, values, values, strict=True)
        ]
        return b"".join(struct.pack(">13q", *row) for row in rows)

    def _read(self, split: str, start: int, end: int, target: int, most_passed: int) -> tuple[int, ...]:
        passed, first = 0, (-1, -1)
        for offset, event_time in self.sent(split, start, end if start >= 0 else 0):
            if self.credible.has(event_time):
                seen = min(end, offset + self.window)
                records = list(self.sent(split, offset, seen))
                top = max(
                    (record for record in records if self.credible.has(record[1])),
                    key=lambda record: (record[1], -record[0]),
                )
                return (offset, event_time, passed, *first, offset, *self._crossed(records, target), seen, *top)
            passed, first = passed + 1, first if passed else (offset, event_time)
            if passed >= most_passed:
                return (-1, -1, passed, *first, offset + 1, *[-1] * 7)
        return (-1, -1, passed, *first, end, *[-1] * 7)

    def _crossed(self, records: list[tuple[int, int]], target: int) -> tuple[int, ...]:
        """Where the records that came along pass `target`, by halving as the original does."""
        if records[0][1] > target:
            return (-1, -1, -1, -1)
        low, high, above = 0, len(records), -1
        middle = high - 1
        while high - low > 1:
            at = next((n for n in range(middle, high) if self.credible.has(records[n][1])), None)
            if at is not None and records[at][1] <= target:
                low = at
            else:
                high, above = middle, above if at is None else records[at][1]
            middle = low + (high - low) // 2
        return (*records[low], *((records[high][0], above) if above >= 0 else (-1, -1)))

    def sample(self, ranges: bytes, patience_ms: int) -> bytes:
        values = iter(struct.unpack(f">{len(ranges) // 8}q", ranges))
        rows = [self._sampled(split, start, end) for split, start, end in zip(self.splits, values, values, strict=True)]
        return b"".join(struct.pack(">4q", *row) for row in rows)

    def _sampled(self, split: str, start: int, end: int) -> tuple[int, int, int, int]:
        stop = min(end, start + self.window)
        seen = [t for _, t in self.sent(split, start, stop) if self.credible.has(t)]
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
        self.budget, self.least = budget, None
        self.fixed_at: int | None = None
        self.event_time: object | None = None
        self._fixed: Offsets | None = None
        self.looks = 0  # how often the last records were looked at
        self.without_value: set[tuple[str, int]] = set()  # split and offset

    def available_now(self, now_ms: int) -> "SourceInMemory":
        self.fixed_at, self._fixed = now_ms, self._all()
        return self

    def sampled(self, ranges: Mapping[str, tuple[int, int]]) -> Sampled:
        self.looks += 1
        times = [(split, n, self.records[split][n]) for split, (low, high) in ranges.items() for n in range(low, high)]
        valued = sum((split, n) not in self.without_value for split, n, _ in times)
        return Sampled(len(times), valued, sum(time >= 0 for _, _, time in times), '{"at": 1}' if valued else "")

    def initial(self) -> Offsets:
        return dict.fromkeys(self.records, 0)

    def comes(self, ends: Offsets, seconds: float) -> bool:
        return self._all() != ends  # without the wait

    def ends(self, start: Offsets) -> Offsets:
        return self._all() if self._fixed is None else self._fixed

    def _all(self) -> Offsets:
        return {split: len(log) for split, log in self.records.items()}


class TwoTexts:
    """The texts beside a checkpoint, in memory."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}

    def read(self) -> list[str]:
        return list(self.texts.values())

    def write(self, number: int, text: str) -> None:
        self.texts[number % 2] = text


@dataclass
class RunInMemory:
    """A run as Spark would show it."""

    available_now: bool = False
    interval_s: float = 0.0
    active: bool = True
    failure: bool = False
    logged: dict[int, Offsets] = field(default_factory=dict)
    found: list[QueryWatermark] = field(default_factory=list)
    highest: bool = False
    stored: int | None = None
    kept: Memory = field(default_factory=TwoTexts)
    clocks: Zone = field(default_factory=Zone)
    memories: dict[str, TwoTexts] = field(default_factory=dict)

    def is_active(self) -> bool:
        return self.active

    def failed(self) -> bool:
        return self.failure

    def logged_offsets(self, source: int) -> Offsets | None:
        return self.logged.get(source)

    def start_offsets(self, source: int) -> Offsets | None:
        return self.logged.get(source)

    def logged_watermark(self) -> int | None:
        return self.stored

    def watermarks(self) -> list[QueryWatermark]:
        return self.found

    def takes_highest(self) -> bool:
        return self.highest

    def memory(self, name: str = "") -> Memory:
        return self.memories.setdefault(name, TwoTexts()) if name else self.kept

    def zone(self, name: str | None) -> Zone:
        return self.clocks


class GaugesInMemory:
    """Gauges that remember the values shown; `at` calls back at the count-th time."""

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
