"""One schedule on real servers: its own Redis, coordinator and topic, and reader processes."""

import json
import os
import signal
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
from confluent_kafka import Producer

from lockgate_cli.verify.rules import verify
from lockgate_cli.verifying import read
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.link import Link
from lockgate_testbed.process import Child, await_true
from lockgate_testbed.redis import NO_PERSISTENCE
from support.failing_over import FailingOver
from support.rotated import AS_ADMIN, READ_WITHIN_S, Tokens
from support.schedules.drawing import (
    LEASE_MS,
    NETWORK_S,
    PARTITIONS,
    READERS,
    STOPPED_S,
    UPDATE_MS,
    Act,
    Fault,
    Schedule,
)
from support.schedules.judging import Handed, Snapshot, Told, Verdict, judged
from support.schedules.onlooking import Onlooker

KEEPING = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")
MAX_DRIFT_MS = 5_000
RECORDS = 200
STEP_MS, SKEW_MS = 100, 10_000
MORE_PARTITIONS = 4
WORK_S = 0.001  # of the program, for each record
# How long a busy machine may take; nobody waits longer than it takes.
ALL_WITHIN_S, GONE_WITHIN_S = 240.0, 60.0
T0 = 1_767_225_600_000


class World:
    """The servers and processes of one schedule, which record a history. `sink`: the readers write
    into a table, too. `records`: of each partition. `kafka`: the partitions come from Kafka's own
    group.
    """

    def __init__(
        self,
        schedule: Schedule,
        bootstrap: str,
        folder: Path,
        *,
        sink: bool = False,
        records: int = RECORDS,
        kafka: bool = False,
    ) -> None:
        self.schedule, self.bootstrap, self.folder, self.records = schedule, bootstrap, folder, records
        self.kafka = kafka
        self.topic = f"schedule-{schedule.seed}{'-sink' if sink else ''}{'-kafka' if kafka else ''}-{os.getpid()}"
        self.partitions = PARTITIONS
        self.sink = folder / "sink.db" if sink else None
        self._history = folder / "history"
        self.readers: list[Child] = []
        self._redis = FailingOver(KEEPING if schedule.keeps else NO_PERSISTENCE)
        self._tokens = Tokens(folder)
        self._stack = ExitStack()
        # A server's outages come one after the other, though a schedule may want the next one
        # before the server is back.
        self._pools = {server: ThreadPoolExecutor(1) for server in (Fault.COORDINATOR, Fault.REDIS)}
        self._ends: list[tuple[float, Callable[[], None]]] = []
        self._coming: list[Future[None]] = []
        self._redis_away = threading.Lock()
        self._pause = threading.Event()

    def __enter__(self) -> "World":
        try:
            for pool in self._pools.values():
                self._stack.callback(pool.shutdown)
            topics.create(self.bootstrap, self.topic, self.partitions)
            self._stack.callback(topics.delete, self.bootstrap, self.topic)
            self._fill(range(self.partitions))
            self._stack.enter_context(self._redis)
            options = ("--history", str(self._history), "--tokens", str(self._tokens.of_coordinators))
            self._coordinator = self._stack.enter_context(CoordinatorProcess(self._redis.url, options=options))
            port = int(self._coordinator.url.rpartition(":")[2])
            self._links = [self._stack.enter_context(Link(port)) for _ in range(2)]
            config = {
                "max_drift_ms": MAX_DRIFT_MS,
                "lease_ms": LEASE_MS,
                "update_interval_ms": UPDATE_MS,
                "catch_up": self.schedule.catch_up,
            }
            group = f"{self._coordinator.url}/v1/groups/{self.topic}"
            httpx.put(group, json=config, headers=AS_ADMIN, timeout=60).raise_for_status()
            self._onlooker = self._stack.enter_context(Onlooker(f"{group}/alignment/events", AS_ADMIN))
            self._stack.callback(self._end_readers)
            for _ in range(READERS):
                self._start_reader()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    # -- the run --

    def run(self) -> Verdict:
        """Carries the schedule out, waits until all was read, lets all leave, and judges."""
        await_true(lambda: bool(self.handed()), 30)
        began = time.monotonic()
        for act in self.schedule.acts:
            self._until(began + act.at_s)
            self._carry_out(act)
        while self._ends:
            self._until(min(self._ends)[0])
        for coming in self._coming:
            coming.result(60)
        wanted = self.partitions * self.records
        await_true(lambda: len({(each.split, each.offset) for each in self.handed()}) >= wanted, ALL_WITHIN_S)
        left = self._leave()
        verdict = judged(
            self.handed(),
            self.snapshots(),
            {f"{self.topic}-{partition}": self.records for partition in range(self.partitions)},
            loses=self.schedule.loses,
            told=self.told(),
            seen=self._onlooker.seen,
            numbered=not self.kafka,
        )
        verdict.wrong += left
        found = verify(read(sorted(self._history.glob("*.jsonl")))).violations
        # On a busy machine two update intervals pass before anybody can hear.
        verdict.wrong += [str(each) for each in found if each.rule != "heard"]
        return verdict

    def handed(self) -> list[Handed]:
        """What all processes have handed out so far."""
        return [
            Handed(float(at), reader, split, int(offset), int(ms), int(ceiling), int(number), float(until))
            for reader, (at, split, offset, ms, ceiling, number, until) in self._lines("R")
        ]

    def snapshots(self) -> list[Snapshot]:
        """The answered exchanges of all processes."""
        return [
            Snapshot(
                float(at),
                reader,
                {split: tuple(each) for split, each in json.loads(" ".join(kept)).items()},
                float(sent_at),
                float(until),
                farewell == "1",
            )
            for reader, (at, sent_at, until, farewell, *kept) in self._lines("S")
        ]

    def told(self) -> list[Told]:
        """The ceilings that the coordinator told all processes."""
        return [Told(float(at), reader, int(revision), int(ms)) for reader, (at, revision, ms) in self._lines("C")]

    def in_the_table(self) -> Counter[tuple[str, int]]:
        """How often each record is in the table."""
        assert self.sink is not None
        with sqlite3.connect(self.sink) as db:
            return Counter(db.execute("SELECT split, offset FROM results").fetchall())

    # -- inside --

    def _carry_out(self, act: Act) -> None:
        reader = self.readers[act.who % len(self.readers)]
        if act.fault is Fault.KILL:
            reader.kill()
            self.readers.remove(reader)
            self._start_reader()
        elif act.fault in STOPPED_S:
            self._signal(reader, signal.SIGSTOP)
            self._later(STOPPED_S[act.fault], lambda: self._signal(reader, signal.SIGCONT))
        elif act.fault is Fault.JOIN:
            self._start_reader()
        elif act.fault is Fault.LEAVE:
            self._signal(reader, signal.SIGTERM)
        elif act.fault is Fault.PARTITIONS:
            self._widen()
        elif act.fault is Fault.TOKENS:
            for place, step in enumerate(self._tokens.rotation(0)):
                self._later(place * (act.for_s + READ_WITHIN_S), step)
        elif act.fault is Fault.COORDINATOR:
            self._coming.append(self._pools[act.fault].submit(self._coordinator_outage, act.for_s))
        elif act.fault in (Fault.REDIS, Fault.FAILOVER):
            outage = self._redis_outage if act.fault is Fault.REDIS else self._failover
            self._coming.append(self._pools[Fault.REDIS].submit(outage, act.for_s))
        else:
            link = self._links[act.who % 2]
            {Fault.PARTITION: link.stop, Fault.DELAY: lambda: link.slow(0.3), Fault.RESET: link.reset}[act.fault]()
            self._later(NETWORK_S * act.for_s, link.resume)

    def _failover(self, lost_s: float) -> None:
        with self._redis_away:
            self._redis.fail_over(lost_s)

    def _redis_outage(self, for_s: float) -> None:
        with self._redis_away:
            self._redis.kill()
            self._pause.wait(for_s)
            self._redis.start()

    def _coordinator_outage(self, for_s: float) -> None:
        self._coordinator.kill()
        self._pause.wait(for_s)
        with self._redis_away:  # without Redis a coordinator does not start; a supervisor would try again
            self._coordinator.start()

    def _widen(self) -> None:
        before, self.partitions = self.partitions, self.partitions + MORE_PARTITIONS
        topics.widen(self.bootstrap, self.topic, self.partitions)
        self._fill(range(before, self.partitions))

    def _fill(self, partitions: range) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5, **topics.QUIET})
        for partition in partitions:
            for offset in range(self.records):
                at = T0 + partition % 6 * SKEW_MS + offset * STEP_MS
                producer.produce(self.topic, b"x", partition=partition, timestamp=at)
            producer.poll(0)
        assert producer.flush(60) == 0

    def _start_reader(self) -> None:
        number = len(list(self.folder.glob("reader-*.out")))
        settings: dict[str, Any] = {
            "topic": self.topic,
            "bootstrap": self.bootstrap,
            "group": self.topic,
            "url": f"http://127.0.0.1:{self._links[number % 2].port}",
            "token_file": str(self._tokens.of_clients),
            "work_s": WORK_S,
            "kafka": self.kafka,
            "sink": None if self.sink is None else str(self.sink),
        }
        recording = {"LOCKGATE_HISTORY": str(self._history)}
        self.readers.append(started(settings, self.folder / f"reader-{number}", recording))

    def _leave(self) -> list[str]:
        """SIGTERM to all. What went wrong, as sentences."""
        for reader in self.readers:
            self._signal(reader, signal.SIGTERM)
        gone = await_true(lambda: not any(reader.alive for reader in self.readers), GONE_WITHIN_S)
        wrong = [] if gone else [f"a reader did not leave within {GONE_WITHIN_S:g} s"]
        for out in sorted(self.folder.glob("reader-*.out")):
            text = out.read_text(errors="replace")
            if "Traceback" in text:
                wrong.append(f"{out.name}: {text[-1_500:]}")
        return wrong

    def _end_readers(self) -> None:
        for reader in self.readers:
            reader.kill()

    def _signal(self, reader: Child, number: int) -> None:
        with suppress(ProcessLookupError):
            if reader.alive:
                os.kill(reader.pid, number)

    def _later(self, after_s: float, act: Callable[[], None]) -> None:
        self._ends.append((time.monotonic() + after_s, act))

    def _until(self, at: float) -> None:
        """Waits, and carries out what is due meanwhile."""
        while (now := time.monotonic()) < at or any(due <= now for due, _ in self._ends):
            for end in [each for each in self._ends if each[0] <= now]:
                self._ends.remove(end)
                end[1]()
            first = min([at, *(due for due, _ in self._ends)])
            self._pause.wait(max(0.0, first - time.monotonic()))

    def _lines(self, kind: str) -> Iterator[tuple[str, list[str]]]:
        for file in sorted(self.folder.glob("reader-*.lines")):
            whole, _, _ = file.read_text().rpartition("\n")  # a line may be on its way
            for line in whole.splitlines():
                first, *rest = line.split(" ")
                if first == kind:
                    yield file.stem, rest


def started(settings: Mapping[str, Any], name: Path, env: Mapping[str, str]) -> Child:
    """Start the program. `name`: of its files of lines and of output, without their suffixes."""
    told = json.dumps({**settings, "log": str(name.with_suffix(".lines"))})
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "support.schedules.program", told]
    return Child(name.name, command, name.with_suffix(".out"), {"PYTHONPATH": path, **env})


def run(
    schedule: Schedule,
    bootstrap: str,
    folder: Path,
    *,
    sink: bool = False,
    records: int = RECORDS,
    kafka: bool = False,
) -> Verdict:
    """The verdict over one schedule."""
    folder.mkdir(parents=True, exist_ok=True)
    with World(schedule, bootstrap, folder, sink=sink, records=records, kafka=kafka) as world:
        verdict = world.run()
        if sink:
            table = world.in_the_table()
            wanted = world.partitions * records
            if len(table) != wanted or set(table.values()) != {1}:
                again = sum(count > 1 for count in table.values())
                verdict.wrong.append(f"the table has {len(table)} of {wanted} records, {again} of them twice")
        return verdict
