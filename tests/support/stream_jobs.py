"""A streaming job as each environment runs it: from a Kafka topic into JSON files, by Spark's own
API, with nothing of lockgate but its options. `connect_job.py` is it in Python, `StreamJob.scala`
in Scala; `StreamJob` has its settings and its account afterwards.

What a batch read stands in the checkpoint, whatever the environment: so alignment shows there.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from lockgate_testbed.skew import SkewedTopic

Ends = dict[int, int]
"""Where a batch ends: the first offset that is not read, by partition."""


@dataclass(frozen=True, slots=True)
class StreamJob:
    """`folder`: for checkpoint and output. `options`: of the Kafka source; `conf`: of the session.
    `windows`: it counts by hour of `time`, a column or Spark SQL, and drops what is later than
    `delay`; else it writes (partition, offset) of each record. `batches`: it is stopped after so
    many of this run; else it ends with the topic. `also`: a topic for a second source, in Python
    alone.
    """

    name: str
    bootstrap: str
    topic: str
    folder: Path
    budget: int
    options: Mapping[str, str] = field(default_factory=dict)
    conf: Mapping[str, str] = field(default_factory=dict)
    windows: bool = False
    time: str = "timestamp"
    delay: str = "10 minutes"
    batches: int | None = None
    also: str | None = None

    def arguments(self) -> list[str]:
        """KEY=VALUE…, as the programs take them."""
        plain = {"name": self.name, "time": self.time, "delay": self.delay, "batches": self.batches or 0}
        plain |= {"windows": str(self.windows).lower(), "checkpoint": self.checkpoint, "out": self.out}
        plain |= {} if self.also is None else {"also": self.also}
        options = {"kafka.bootstrap.servers": self.bootstrap, "subscribe": self.topic, "startingOffsets": "earliest"}
        options |= {"maxOffsetsPerTrigger": str(self.budget), **self.options}
        told = {f"option.{key}": value for key, value in options.items()}
        told |= {f"conf.{key}": value for key, value in self.conf.items()}
        return [f"{key}={value}" for key, value in {**plain, **told}.items()]

    def aligned(self, **options: str) -> "StreamJob":
        """The same, aligned by its options: `maxDrift="1 hour"` sets `lockgate.maxDrift`."""
        named = {f"lockgate.{key}": value for key, value in options.items()}
        return replace(self, options={**self.options, "lockgate.align": "true", **named})

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def written(self) -> list[dict[str, int]]:
        """The rows of the output, exactly once: those of the files that the sink's log names."""
        files = {Path(name.removeprefix("file://")) for name in self._logged_files()}
        return [json.loads(line) for file in sorted(files) for line in file.read_text().splitlines()]

    @property
    def rows(self) -> Counter[tuple[int, int]]:
        """How often (partition, offset) was written."""
        return Counter((row["partition"], row["offset"]) for row in self.written)

    @property
    def counts(self) -> dict[int, int]:
        """The count of each closed window, by its begin (ms). Raises `ValueError` where one came
        twice.
        """
        rows = [(row["begin"], row["count"]) for row in self.written]
        if len(rows) != len(dict(rows)):
            raise ValueError(f"a window came twice: {rows}")
        return dict(rows)

    @property
    def batches_planned(self) -> list[Ends]:
        """Where each batch ends, as the checkpoint has it, from the first on."""
        return batch_ends(self.checkpoint, self.topic)

    @property
    def watermarks(self) -> list[int]:
        """Spark's watermark (ms) as it was logged with each batch."""
        logged = (file.read_text().splitlines()[1] for file in _numbered(self.checkpoint / "offsets"))
        return [json.loads(line)["batchWatermarkMs"] for line in logged]

    def planned_at(self) -> list[tuple[float, Ends]]:
        """The same, each with the wall clock (s) at which it was logged."""
        times = (file.stat().st_mtime for file in _numbered(self.checkpoint / "offsets"))
        return list(zip(times, self.batches_planned, strict=True))

    def done_at(self) -> list[tuple[float, Ends]]:
        """Where each batch that was done ends, with the wall clock (s) at which it was done."""
        times = {int(file.name): file.stat().st_mtime for file in _numbered(self.checkpoint / "commits")}
        return [(times[n], ends) for n, ends in enumerate(self.batches_planned) if n in times]

    def _logged_files(self) -> list[str]:
        named: list[str] = []
        for file in sorted((self.out / "_spark_metadata").glob("[0-9]*"), key=lambda file: int(file.stem)):
            entries = [json.loads(line)["path"] for line in file.read_text().splitlines()[1:]]
            named = entries if file.suffix == ".compact" else named + entries
        return named


def batch_ends(checkpoint: Path, topic: str) -> list[Ends]:
    """Where each batch of a query with one source ends, from the first on."""
    found: list[Ends] = []
    for file in _numbered(checkpoint / "offsets"):
        (source,) = (line for line in file.read_text().splitlines()[2:] if line != "-")
        found.append({int(partition): end for partition, end in json.loads(source)[topic].items()})
    return found


def apart(spec: SkewedTopic, ends: Ends) -> int:
    """How far (ms) the partitions of a topic are apart in event time at a batch boundary: the
    highest record that was read above the lowest that was not. 0 where all is read.
    """
    counts = spec.counts()
    unread = [spec.event_time(partition, end) for partition, end in ends.items() if end < counts[partition]]
    read = [spec.event_time(partition, end - 1) for partition, end in ends.items() if end > 0]
    return max(0, max(read) - min(unread)) if unread and read else 0


def expected_counts(spec: SkewedTopic, window_ms: int) -> Counter[int]:
    """How many records lie in each window, by its begin (ms)."""
    times = (spec.event_time(p, offset) for p, count in enumerate(spec.counts()) for offset in range(count))
    return Counter(time - time % window_ms for time in times)


def _numbered(folder: Path) -> list[Path]:
    return sorted((file for file in folder.glob("*") if file.name.isdigit()), key=lambda file: int(file.name))
