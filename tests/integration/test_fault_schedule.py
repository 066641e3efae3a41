"""Three queries of one group in two applications and a Python reader, through faults by a seeded
schedule: exact, never above the ceiling received, level again. `lockgate verify` judges their
history.

`lockgate.group.alignment` proves how far apart the queries may be. Under `strict` that is the
drift. Under `joint` it is the drift or a batch of the query that is behind, whichever is greater.

`LOCKGATE_FAULT_RUNS` (default 50) schedules from seed `LOCKGATE_FAULT_SEED` (default 1) on, each a
test of its own.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from lockgate_cli.verify.rules import verify
from lockgate_cli.verifying import read
from lockgate_http import history
from lockgate_spark import Alignment, Coordinator, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.process import await_true
from lockgate_testbed.skew import HOUR_MS, SkewedTopic
from support.answers import wait_for
from support.drivers import Driver, Order
from support.exact_sink import ExactSink, Written, all_rows, worst_drift
from support.faults import Fault, Plant, Step, schedule
from support.queries import kafka_stream
from support.schedules.world import started

RUNS = int(os.environ.get("LOCKGATE_FAULT_RUNS", "50"))
FIRST_SEED = int(os.environ.get("LOCKGATE_FAULT_SEED", "1"))

RECORDS = 6_000
DAY = SkewedTopic("a-day-of-faults", weights=(1, 2, 4), records=RECORDS)
COUNTS = dict(enumerate(DAY.counts()))
LEASE_S, UPDATE_INTERVAL_S = 6.0, 0.2
BATCH = RECORDS // 24
NAMES = ("in-process-1", "in-process-2", "driver")
READS_FOR_S = 12.0  # at least, so that there is something left to befall
LEAST_BEFALLEN = (
    # of the steps: the first of them come before anybody can have read its 24 batches, however
    # quick the machine
    3
)
LEVEL_WITHIN_S = 10.0  # as docs/guide/several-queries.md has it
FIRST_PLAN_WITHIN_S = 60.0  # of a driver that was started anew, cold
PROGRESS_WITHIN_S = 20.0  # a fault may also come while all wait
ENDS_WITHIN_S = 240.0


class Trio:
    """The queries of one run: two in this process, behind the first network, and one in a process
    of its own, behind the second.
    """

    def __init__(self, plant: Plant, spark: SparkSession, bootstrap: str, folder: Path, seed: int) -> None:
        self.plant, self.group = plant, f"faults-{seed}-{time.time_ns()}"
        self.strict = seed % 2 == 0
        self.steps, fails_at = schedule(seed)
        self._folder = folder
        way = "strict" if self.strict else "joint"
        sizes = {
            "max_drift_ms": HOUR_MS,
            "lease_ms": int(1000 * LEASE_S),
            "update_interval_ms": int(1000 * UPDATE_INTERVAL_S),
        }
        plant.configure(self.group, {**sizes, "catch_up": way, "expected_sources": [*NAMES, "enrich"]})
        shared = {"group": self.group, "token_file": str(plant.tokens.of_clients)}
        near, far = ({**shared, "url": url, "catch_up": way} for url in plant.urls)
        # The sinks take twice the time of all faults together, so that the most that can be read
        # during faults is one half.
        reads_for_s = max(READS_FOR_S, 2 * sum(step.lasts_s for step in self.steps))
        slowly = dict(zip(NAMES, (None, RECORDS / reads_for_s, RECORDS / (1.25 * reads_for_s)), strict=True))
        order = Order(
            "driver", bootstrap, DAY.name, BATCH, str(folder / "driver"), far, "1 hour", slowly["driver"], (fails_at,)
        )
        self._order = order
        self._recording = {history.VARIABLE: str(plant.history)}
        self.driver = Driver(order, env=self._recording)
        reads = {"topic": DAY.name, "bootstrap": bootstrap, "kafka": False, "work_s": reads_for_s / RECORDS}
        self._reader = started({**reads, **shared, "url": plant.urls[1]}, folder / "reader", self._recording)
        self.queries: dict[str, StreamingQuery] = {}
        self.befell: list[set[str]] = []
        for name in NAMES[:2]:
            stream = kafka_stream(spark, bootstrap, DAY.name, maxOffsetsPerTrigger=BATCH)
            stream = align(stream, Alignment(max_drift="1 hour", coordinator=Coordinator(**near, source=name)))
            writer = stream.writeStream.foreachBatch(ExactSink(folder / name / "out", slowly[name]))
            writer = writer.option("checkpointLocation", str(folder / name / "checkpoint")).queryName(
                f"{self.group}-{name}"
            )
            self.queries[name] = writer.trigger(availableNow=True).start()

    def written(self, name: str) -> Written:
        return Written.to(self._folder / name / "out")

    def befall(self, step: Step) -> None:
        """One fault, once the queries have got on; a driver that has finished is left alone."""
        enough = self._batches() + step.after
        await_true(lambda: self._batches() >= enough or not self._running(), PROGRESS_WITHIN_S)
        if step.fault is Fault.DRIVER_KILLED:
            # Spark itself refuses a checkpoint whose first metadata file is half there.
            await_true(lambda: self._batches("driver") > 0 or "finished" in self.driver.said, FIRST_PLAN_WITHIN_S)
        self.befell.append(self._running())
        self.plant.befall(step, lambda: "finished" in self.driver.said or self.driver.kill(), self._again)

    def await_level(self) -> float:
        """Waits until both coordinators hear all running readers again. Returns how long those of
        this process took since all was mended, in s.
        """
        began = time.monotonic()
        wait_for(lambda: self._heard(set(self.queries)), LEVEL_WITHIN_S)
        took_s = time.monotonic() - began
        self.driver.read_until("started")
        wait_for(lambda: self._heard({*self.queries, "driver"}), FIRST_PLAN_WITHIN_S)
        return took_s

    def finish(self) -> None:
        for query in self.queries.values():
            assert query.awaitTermination(int(ENDS_WITHIN_S)), f"{query.name} still runs"
        self.driver.finish(ENDS_WITHIN_S)
        wait_for(lambda: self._read_by_reader() == all_rows(DAY.counts()).keys(), ENDS_WITHIN_S)
        self._reader.stop()

    def _read_by_reader(self) -> set[tuple[int, int]]:
        """(partition, offset) of all that the Python reader has got."""
        lines = [line.split(" ") for line in (self._folder / "reader.lines").read_text().splitlines()]
        return {(int(each[2].rpartition("-")[2]), int(each[3])) for each in lines if each[0] == "R"}

    def violations(self) -> list[str]:
        """What `lockgate verify` finds. On a busy machine news comes later than it allows."""
        lines = read(sorted(self.plant.history.glob("*.jsonl")))
        found = verify(each for each in lines if each.body.get("group", "") in ("", self.group))
        assert found.counts["rows"] >= RECORDS
        return [str(each) for each in found.violations if each.rule != "heard"]

    def close(self) -> None:
        self._reader.kill()
        for query in self.queries.values():
            query.stop()
        self.driver.kill()

    def _again(self) -> None:
        if not self.driver.runs and "finished" not in self.driver.said:
            self.driver = Driver(self._order, env=self._recording)

    def _batches(self, *names: str) -> int:
        return sum(len(list(self._folder.glob(f"{name}/out/*.json"))) for name in names or NAMES)

    def _running(self) -> set[str]:
        return {name for name, query in self.queries.items() if query.isActive} | (
            {"driver"} if self.driver.runs and "finished" not in self.driver.said else set()
        )

    def _heard(self, names: set[str]) -> bool:
        """Whether both coordinators have had a report of each of these that runs in the last third
        of a lease.
        """
        return all(self._hears(which, names & self._running()) for which in range(2))

    def _hears(self, which: int, names: set[str]) -> bool:
        readers = self.plant.readers(self.group, which)
        # One that has only registered since it was lost is not waited for.
        left = {
            name: readers[name]["lease_left_ms"]
            for name in names
            if name in readers and readers[name]["state"] != "registered"
        }
        return left.keys() == names and all(ms is None or ms > 2000 * LEASE_S / 3 for ms in left.values())


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with Plant(tmp_path_factory.mktemp("plant")) as plant, pytest.MonkeyPatch.context() as here:
        here.setenv(history.VARIABLE, str(plant.history))
        here.setattr(history, "_opened", {})
        yield plant


@pytest.fixture(scope="module")
def day(kafka: KafkaBroker) -> SkewedTopic:
    topics.load(kafka.bootstrap, DAY)
    return DAY


@pytest.mark.long
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + RUNS))
def test_through_a_schedule_of_faults_all_is_exact_and_level_again(
    spark: SparkSession, kafka: KafkaBroker, day: SkewedTopic, plant: Plant, tmp_path: Path, seed: int
) -> None:
    trio = Trio(plant, spark, kafka.bootstrap, tmp_path, seed)
    try:
        for step in trio.steps:
            print(f"seed {seed}: {step}", flush=True)
            trio.befall(step)
        mended_at = time.time()
        took_s = trio.await_level()
        level_at = time.time() + 2 * UPDATE_INTERVAL_S
        print(
            (
                f"seed {seed}: all are heard again {took_s:.2f} s after the last fault; so many ran: "
                f"{[*map(len, trio.befell)]}"
            ),
            flush=True,
        )
        trio.finish()
    finally:
        trio.close()
    assert trio.violations() == []
    written = {name: trio.written(name) for name in NAMES}
    assert sum(len(running) >= 2 for running in trio.befell) >= LEAST_BEFALLEN
    assert any(plan.planned_at > mended_at for each in written.values() for plan in each.plans)
    apart = HOUR_MS if trio.strict else max(HOUR_MS, widest_batch())
    for name, each in written.items():
        assert each.rows == all_rows(DAY.counts()), name
        assert not each.above_the_ceiling, name
        others = [other for other in written.values() if other is not each]
        assert max(worst_drift(each, other, DAY.event_time, COUNTS, level_at) for other in others) <= apart, name


def widest_batch() -> int:
    """How much event time (ms) a plan of this topic may add at most to the query's position, if
    only the budget limits it.
    """
    times = sorted(DAY.event_time(partition, offset) for partition, count in COUNTS.items() for offset in range(count))
    return max(later - earlier for earlier, later in zip(times, times[BATCH:], strict=False))
