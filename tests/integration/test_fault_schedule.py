"""Three queries in two applications and two Python readers, all of one group, through faults by a
seeded schedule: exact, never above the ceiling received, level again. `lockgate verify` judges
their history.

`lockgate.group.alignment` proves how far apart the queries may be. Under `strict` that is the
drift. Under `joint` it is the drift or a batch of the query that is behind, whichever is greater.

`LOCKGATE_FAULT_RUNS` (default 25) schedules from seed `LOCKGATE_FAULT_SEED` (default 1) on, each a
test of its own.
"""

import json
import os
import signal
import sqlite3
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
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
from lockgate_testbed.process import Child, await_true
from lockgate_testbed.skew import HOUR_MS, SkewedTopic
from support.answers import wait_for
from support.drivers import Driver, Order
from support.exact_sink import ExactSink, Written, all_rows, worst_drift
from support.faults import Fault, Mended, Plant, Step, schedule
from support.queries import kafka_stream
from support.schedules.world import started
from support.two_brokers import TwoBrokers

RUNS = int(os.environ.get("LOCKGATE_FAULT_RUNS", "25"))
FIRST_SEED = int(os.environ.get("LOCKGATE_FAULT_SEED", "1"))

RECORDS = 6_000
DAY = SkewedTopic("a-day-of-faults", weights=(1, 2, 4), records=RECORDS)
COUNTS = dict(enumerate(DAY.counts()))
LEASE_S, UPDATE_INTERVAL_S = 6.0, 0.2
BATCH = RECORDS // 24
NAMES = ("in-process-1", "in-process-2", "driver")
READERS = 2
MENDS_WITHIN_S = 3.0  # on average: a broker takes longer, all else takes less
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
    of its own, behind the second. So are two Python readers, which share the partitions and write
    into one table.
    """

    def __init__(self, plant: Plant, spark: SparkSession, brokers: TwoBrokers, folder: Path, seed: int) -> None:
        self.plant, self.group = plant, f"faults-{seed}-{time.time_ns()}"
        self.strict = seed % 2 == 0
        self.steps, fails_at = schedule(seed)
        self._folder, self._brokers = folder, brokers
        bootstrap = brokers.bootstrap
        way = "strict" if self.strict else "joint"
        sizes = {
            "max_drift_ms": HOUR_MS,
            "lease_ms": int(1000 * LEASE_S),
            "update_interval_ms": int(1000 * UPDATE_INTERVAL_S),
        }
        plant.configure(self.group, {**sizes, "catch_up": way, "expected_sources": [*NAMES, "enrich"]})
        shared = {"group": self.group, "token_file": str(plant.tokens.of_clients)}
        near, far = ({**shared, "url": url, "catch_up": way} for url in plant.urls)
        # The sinks take longer than all faults together, so that not all can be read during faults.
        reads_for_s = 1.5 * sum(step.lasts_s + MENDS_WITHIN_S for step in self.steps)
        slowly = dict(zip(NAMES, (None, RECORDS / reads_for_s, RECORDS / (1.25 * reads_for_s)), strict=True))
        order = Order(
            "driver", bootstrap, DAY.name, BATCH, str(folder / "driver"), far, "1 hour", slowly["driver"], (fails_at,)
        )
        on_disk = plant.disks[1] / "driver"
        on_disk.mkdir()
        (folder / "driver").symlink_to(on_disk)
        self._order = order
        self._recording = {history.VARIABLE: str(plant.history)}
        self.driver = Driver(order, env=self._recording)
        self._reads = {
            "topic": DAY.name,
            "bootstrap": bootstrap,
            "kafka": False,
            "work_s": READERS * reads_for_s / RECORDS,
            "sink": str(folder / "table.db"),
            **shared,
            "url": plant.urls[1],
        }
        self._readers: list[Child] = []
        for _ in range(READERS):
            self._start_reader()
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
        if {Fault.DRIVER_KILLED, Fault.DISK_FULL} & set(step.faults):
            # Spark itself refuses a checkpoint whose first metadata file is half there.
            await_true(lambda: self._batches("driver") > 0 or "finished" in self.driver.said, FIRST_PLAN_WITHIN_S)
        self.befell.append(self._running())
        self.plant.befall(step, self.group, self._own_faults(step.which))
        self._again()

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
        wait_for(self._again, ENDS_WITHIN_S)
        wait_for(lambda: sum(self.in_the_table().values()) >= RECORDS, ENDS_WITHIN_S)
        for reader in self._readers:
            reader.stop()

    def in_the_table(self) -> "Counter[tuple[int, int]]":
        """How often (partition, offset) is in the table of the Python readers."""
        with sqlite3.connect(self._reads["sink"], timeout=ENDS_WITHIN_S) as table:
            found = table.execute("SELECT split, offset FROM results").fetchall()
        return Counter((int(split.rpartition("-")[2]), offset) for split, offset in found)

    def violations(self) -> list[str]:
        """What `lockgate verify` finds. On a busy machine news comes later than it allows."""
        self._expect()
        found = verify(read(self.plant.histories))
        print(*found.notices, f"{dict(found.counts)}", sep="\n", flush=True)
        return [str(each) for each in found.violations if each.rule != "heard"]

    def _expect(self) -> None:
        """Tell the checker which rows each query has. The readers' rows are judged by their table:
        a killed one has no line for the last rows that it wrote there.
        """
        fields = {"k": "expect", "t": 0, "group": self.group, "from": 0}
        lines = [
            {**fields, "source": source, "split": f"0/{DAY.name}-{partition}", "to": count}
            for source in NAMES
            for partition, count in COUNTS.items()
        ]
        (self.plant.history / "expected.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    def close(self) -> None:
        for reader in self._readers:
            reader.kill()
        for query in self.queries.values():
            query.stop()
        self.driver.kill()

    def _own_faults(self, which: int) -> dict[Fault, Mended]:
        reader, brokers = self._readers[which], self._brokers

        def signalled(number: int) -> Callable[[], None]:
            def send() -> None:
                with suppress(ProcessLookupError):
                    os.kill(reader.pid, number)

            return send

        def kill_broker() -> None:
            brokers.await_in_sync()
            brokers.second.kill()
            brokers.await_second_leads_none()

        def start_broker() -> None:
            brokers.second.start()
            brokers.lead_as_before()

        def start_reader() -> None:
            self._readers.remove(reader)
            self._start_reader()

        return {
            Fault.BROKER_KILLED: (kill_broker, start_broker),
            Fault.DRIVER_STOPPED: (
                lambda: self.driver.signal(signal.SIGSTOP),
                lambda: self.driver.signal(signal.SIGCONT),
            ),
            Fault.READER_STOPPED: (signalled(signal.SIGSTOP), signalled(signal.SIGCONT)),
            Fault.DRIVER_KILLED: (lambda: "finished" in self.driver.said or self.driver.kill(), self._again),
            Fault.READER_KILLED: (reader.kill, start_reader),
        }

    def _start_reader(self) -> None:
        name = self._folder / f"reader-{len(list(self._folder.glob('reader-*.out')))}"
        self._readers.append(started(self._reads, name, {**self._recording, **self.plant.readers_env}))

    def _again(self) -> bool:
        """Whether the driver has finished. If it has ended too early, start it again, as a
        supervisor does.
        """
        if not self.driver.runs and "finished" not in self.driver.said:
            self.driver = Driver(self._order, env=self._recording)
        return "finished" in self.driver.said

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


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[Plant]:
    with Plant(tmp_path) as plant, pytest.MonkeyPatch.context() as here:
        for fault, reason in plant.left_out.items():
            warnings.warn(f"left out of all schedules: {fault.value}: {reason}", stacklevel=1)
        here.setenv(history.VARIABLE, str(plant.history))
        here.setattr(history, "_opened", {})
        yield plant


@pytest.fixture(scope="module")
def brokers(kafka: KafkaBroker) -> Iterator[TwoBrokers]:
    """Two brokers that lead the topic, which has all its records."""
    # `kafka` says whether there can be a broker at all.
    with KafkaBroker() as first, KafkaBroker(joins=first) as second:
        replicas = [[1, 2] if partition % 2 else [2, 1] for partition in COUNTS]
        brokers = TwoBrokers(first, second, DAY.name, replicas)
        rows = ((partition, DAY.event_time(partition, offset)) for partition, offset in sorted(all_rows(DAY.counts())))
        topics.produce(brokers.bootstrap, DAY.name, ((*row, None, b"x") for row in rows))
        yield brokers


@pytest.mark.long
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + RUNS))
def test_through_a_schedule_of_faults_all_is_exact_and_level_again(
    spark: SparkSession, brokers: TwoBrokers, plant: Plant, tmp_path: Path, seed: int
) -> None:
    trio = Trio(plant, spark, brokers, tmp_path, seed)
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
    assert trio.in_the_table() == all_rows(DAY.counts())


def widest_batch() -> int:
    """How much event time (ms) a plan of this topic may add at most to the query's position, if
    only the budget limits it.
    """
    times = sorted(DAY.event_time(partition, offset) for partition, count in COUNTS.items() for offset in range(count))
    return max(later - earlier for earlier, later in zip(times, times[BATCH:], strict=False))
