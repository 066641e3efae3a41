"""A scenario is played: its acts in order, over real topics, by the lanes."""

import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event

from pyspark.sql import SparkSession

from lockgate_testbed.kafka import KafkaBroker
from seeded.clocks import Clocks, driven_by
from seeded.judging import Verdict, judge, unplayed
from seeded.lanes import PATIENCE_S, Lane, in_both
from seeded.played import Played, Split
from seeded.producing import Producers
from seeded.queries import session
from seeded.scenario import (
    Act,
    Append,
    Away,
    Batches,
    Create,
    DriverClock,
    Drop,
    Finish,
    Pass,
    ProcessAll,
    Scenario,
    Settle,
    Start,
    Stop,
    Trim,
    Warm,
    Widen,
)

CONF = {
    "spark.sql.shuffle.partitions": "1",  # batches are small, and what is judged is what they read
    # The default asks for one process more for each file, where Hadoop has no native library.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # the offset log is what a lane is judged by
    "spark.sql.streaming.minBatchesToRetain": "100000",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",  # all of a run
}


@dataclass(frozen=True, slots=True)
class Plant:
    """Scenarios share a session, beside which each takes one of its own, and the brokers."""

    spark: SparkSession
    brokers: Callable[[int], str]

    def play(self, scenario: Scenario) -> Played:
        """Raises Kafka's errors; those of Spark are part of the outcome."""
        folder = Path(tempfile.mkdtemp(prefix=f"lockgate-scenario-{scenario.seed}-"))
        try:
            return _Play(self, scenario, folder).run()
        finally:
            # Spark's maintenance of state may go on writing for a moment
            shutil.rmtree(folder, ignore_errors=True)

    def verdict(self, scenario: Scenario, code: str = "") -> Verdict:
        """Plays it and judges it. A scenario that cannot be played, for the test bed fails, fails
        too.
        """
        began = time.monotonic()
        try:
            found = judge(scenario, self.play(scenario))
        except Exception as error:
            found = unplayed(scenario, f"{type(error).__name__}: {error}")
        return replace(found, took_s=round(time.monotonic() - began, 1), code=code)


class Brokers:
    """The address of each cluster by its number; a broker is started when it is first asked for.
    `first`: one that runs already.
    """

    def __init__(self, stack: ExitStack, first: str | None = None) -> None:
        self._stack, self._addresses = stack, [] if first is None else [first]

    def __call__(self, cluster: int) -> str:
        while len(self._addresses) <= cluster:
            self._addresses.append(self._stack.enter_context(KafkaBroker()).bootstrap)
        return self._addresses[cluster]


class _Play:
    def __init__(self, plant: Plant, scenario: Scenario, folder: Path) -> None:
        query, prefix = scenario.query, f"s{scenario.seed}-{time.time_ns() % 10**12}"
        isolation = {source.options.get("kafka.isolation.level") for source in query.sources}
        self._scenario = scenario
        self._clocks = Clocks(
            sum(act.lasts_ms for act in scenario.acts if isinstance(act, Away)),
            driver_is_right=not any(isinstance(act, DriverClock) for act in scenario.acts),
        )
        self._producers = Producers(
            plant.brokers,
            prefix,
            self._clocks.now,
            scenario.origin_ms,
            committed="read_committed" in isolation,
            in_payload=query.in_payload,
            ordered=query.disorder_ms == 0,
        )
        lane = partial(Lane, session(plant.spark, query, CONF), query, plant.brokers, prefix, clocks=self._clocks)
        self._aligned = lane(folder / "aligned", aligns=True)
        self._native = None if query.slice_ms is not None else lane(folder / "native", aligns=False)
        self._deleted: dict[Split, int] = {}
        self._dropped: set[str] = set()
        self._never = Event()

    @property
    def _lanes(self) -> list[Lane]:
        return [lane for lane in (self._native, self._aligned) if lane is not None]

    def run(self) -> Played:
        with driven_by(self._clocks):
            try:
                for act in self._scenario.acts:
                    self._do(act)
            finally:
                in_both(self._lanes, Lane.stop)
                self._producers.close()
        native = None if self._native is None else self._native.told()
        return Played(tuple(self._producers.records), self._aligned.told(), native, self._deleted)

    def _do(self, act: Act) -> None:
        match act:
            case Create(topic, partitions):
                self._producers.create(topic, partitions)
            case Widen(topic, partitions):
                self._producers.widen(topic, partitions)
            case Drop(topics):
                self._producers.drop(topics)
                self._dropped.update(topics)
            case Append():
                self._producers.append(act)
            case Trim(topic, partition, first_kept):
                split, offset = self._producers.trim(topic, partition, first_kept)
                self._deleted[split] = max(offset, self._deleted.get(split, 0))
            case Start():
                in_both(self._lanes, lambda lane: lane.start(act))
            case Finish(reads_all):
                in_both(self._lanes, lambda lane: lane.finish(reads_all))
            case ProcessAll(reads_all):
                in_both(self._lanes, lambda lane: lane.process_all(reads_all))
            case Settle(within_s, reads_all):
                in_both(self._lanes, lambda lane: lane.settle(self._has_read_all, within_s, reads_all))
            case Warm(within_s):
                in_both(
                    [lane for lane in self._lanes if lane is self._native],
                    lambda lane: lane.settle(self._has_read_all, PATIENCE_S),
                )
                self._aligned.settle(self._has_read_all, within_s)
            case Batches(count):
                in_both(self._lanes, lambda lane: self._get_on(lane, count))
            case Pass(lasts_s):
                self._never.wait(lasts_s)
            case Stop(killed):
                in_both(self._lanes, lambda lane: lane.stop(killed))
            case Away(lasts_ms):
                self._clocks.move_on(lasts_ms)
            case DriverClock(off_ms):
                self._clocks.driver_off_ms = off_ms

    def _get_on(self, lane: Lane, count: int) -> None:
        lane.wait(lambda: lane.has_batches(count) or self._has_read_all(lane), PATIENCE_S)

    def _has_read_all(self, lane: Lane) -> bool:
        ends = lane.ends
        records = (
            r for r in self._producers.records if r.visible_at is not None and r.split.topic not in self._dropped
        )
        return all(ends.get(r.split, 0) > r.offset for r in records)
