"""Requests to Kafka about all splits of one source at once. Each is one call to `KafkaLog.java`,
with numbers as packed longs, in the order of the splits.
"""

import struct
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from lockgate.plan.model import Head
from lockgate_spark.event_times import Credible
from lockgate_spark.logs.crossing import Reading

Offsets = dict[str, int]
"""Offset by split, the split named as in `KafkaPartitionSplit.split_id`."""

MOST_PASSED = 20_000  # records without a credible event time, in one read

_SAMPLE_MS = 1_000  # the longest wait for a sample
_PATIENCE_MS = 60_000  # as long as Kafka's own default.api.timeout.ms


class KafkaRequests:
    """Sends requests about the splits in `order` to Kafka. `made` counts the requests for offsets
    and records. All methods that ask Kafka, except `sample`, raise the errors of Kafka's client.
    Not thread-safe.
    """

    def __init__(self, jvm: Any) -> None:
        self.order: list[str] = []
        self.made = 0
        self._jvm = jvm

    @cached_property
    def reads_committed(self) -> bool:
        """Whether Spark reads only committed records."""
        return bool(self._jvm.readsCommitted())

    def set_splits(self, splits: Iterable[str]) -> None:
        """Set the splits of all further requests, in this order."""
        self.order = list(splits)
        self._jvm.setSplits("\n".join("\t".join(split.rpartition("-")[::2]) for split in self.order))

    def set_credible(self, credible: Credible) -> None:
        """Set the range of event times that reads consider credible."""
        self._jvm.setCredible(credible.earliest, credible.latest)

    def begins(self) -> Offsets:
        """Return the first offset of each log."""
        return self._offsets(self._jvm.begins())

    def uncommitted_ends(self) -> Offsets:
        """Return the end of each log, including open transactions."""
        return self._offsets(self._jvm.uncommittedEnds())

    def sizes(self) -> dict[str, int]:
        """Return the size in bytes of each log whose size Kafka reports."""
        return self._offsets(self._jvm.sizes())

    def first_at(self, event_time: int) -> dict[str, Head]:
        """Look up the first record, if any, of each log at or above `event_time` (ms)."""
        return self._unpacked(self._jvm.firstAt(max(0, event_time)))  # below 0 the protocol has other meanings

    def highest(self) -> dict[str, Head] | None:
        """Look up the record with the highest timestamp in each log, if the brokers support it."""
        packed = self._jvm.highest()
        return self._unpacked(packed) if packed else None

    def read(self, ranges: Mapping[str, tuple[int, int]], target: int) -> dict[str, Reading]:
        """Read the first credible record in each range of offsets. If it is at or below the event
        time `target` (ms), the reading also has `below` and `above`, from the records that Kafka
        has sent along with it.
        """
        self.made += 1
        packed = self._jvm.read(self._packed(ranges), target, MOST_PASSED, _PATIENCE_MS)
        rows = zip(self.order, struct.iter_unpack(">13q", packed), strict=True)
        return {split: Reading.of(row) for split, row in rows if split in ranges}

    def sample(self, ranges: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, ...]]:
        """Return the out-of-orderness of some records in each range, their lowest and highest event
        time (all in ms), and the offset after them. A split is left out if Kafka fails or sends no
        credible record within a second.
        """
        self.made += 1
        packed = self._jvm.sample(self._packed(ranges), _SAMPLE_MS)
        rows = zip(self.order, struct.iter_unpack(">4q", packed), strict=True)
        return {split: row for split, row in rows if row[0] >= 0}

    def topic_configs(self, topics: Iterable[str], keys: Iterable[str]) -> list[str]:
        """Return a line for each topic, with values separated by tabs: its name and the values of
        `keys`, or its name and the error if its configuration cannot be read.
        """
        return str(self._jvm.configs("\n".join(sorted(topics)), ",".join(keys))).splitlines()

    def close(self) -> None:
        """Close the connections to Kafka."""
        self._jvm.close()

    def _packed(self, ranges: Mapping[str, tuple[int, int]]) -> bytes:
        asked = [value for split in self.order for value in ranges.get(split, (-1, -1))]
        return struct.pack(f">{len(asked)}q", *asked)

    def _unpacked(self, packed: bytes) -> dict[str, Head]:
        self.made += 1
        values = iter(struct.unpack(f">{len(packed) // 8}q", packed))
        heads = zip(self.order, map(Head, values, values), strict=True)
        return {split: head for split, head in heads if head.offset >= 0}

    def _offsets(self, packed: bytes) -> Offsets:
        return {split: head.offset for split, head in self._unpacked(packed).items()}
