"""One schedule in virtual time, from its first report to the last row."""

import asyncio
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.wire.events import CatchUp, GroupConfig, OnLostReader
from lockgate.wire.split_events import SplitList
from lockgate_cli.verify.lines import Entry, Verdict
from lockgate_cli.verify.rules import verify
from lockgate_cli.verifying import read
from support.fire.access import shown
from support.fire.clients import Checkpoint, Query, Reader
from support.fire.drawing import READERS, Act, Fault, Schedule, drawn
from support.fire.process import Process
from support.fire.servers import KEEP_S, T0, Disk, Link, Node, VirtualLoop, now_s
from support.rotated import Tokens

PARTITIONS, ROWS = 6, 80
STEP_MS, SKEW_MS, MAX_DRIFT_MS = 100, 4_000, 2_000
LEASE_MS, UPDATE_MS = 2_000, 200
ENDS_WITHIN_S = 300.0
GROUP = "fire"


class World:
    """The servers, the processes and their histories. `rows`: of each partition."""

    group, update_s = GROUP, UPDATE_MS / 1000

    def __init__(self, schedule: Schedule, folder: Path, rows: int = ROWS) -> None:
        self.schedule, self._folder = schedule, folder
        self.chance = random.Random(schedule.seed)
        self.config = GroupConfig(
            max_drift_ms=MAX_DRIFT_MS,
            lease_ms=LEASE_MS,
            update_interval_ms=UPDATE_MS,
            catch_up=CatchUp(schedule.catch_up),
            on_lost_reader=OnLostReader(schedule.on_lost_reader),
            expected_sources=("orders", "count"),
        )
        self.configured_at: int | None = None
        self.topic, self.other = (
            {f"{name}-{p}": [T0 + p % 3 * SKEW_MS + i * STEP_MS for i in range(rows)] for p in range(PARTITIONS)}
            for name in ("orders", "count")
        )
        self.no_leader = 0
        self._files: dict[str, Any] = {}
        self._subtasks = 0
        self._reading = list[Process]()
        self._checkpoint = Checkpoint(dict.fromkeys(self.other, 0))
        self._mending = list[asyncio.Task[None]]()

    # -- what processes use --

    def new_file(self, source: str) -> str:
        name = f"client-{source}-{len(self._files)}.jsonl"
        self._files[name] = (self._folder / name).open("w")
        return name

    def write(self, file: str, fields: dict[str, Any]) -> None:
        self._files[file].write(json.dumps(fields) + "\n")

    def free_subtask(self) -> int:
        self._subtasks += 1
        return self._subtasks - 1

    def is_taken(self, reader: Reader) -> bool:
        """Whether another living process has the reader's number."""
        return any(
            isinstance(other, Reader) and other is not reader and not other.ended and other.subtask == reader.subtask
            for other in self._reading
        )

    def deny(self, process: Process) -> None:
        """End a process whose token was refused, and start another one, as a supervisor does. One
        that has never had an answer is as good as new.
        """
        if process.heard is None:
            process.credentials = shown(self.tokens)
        elif not process.ended:
            process.kill()
            if process is self.query:
                self.query = Query(self, self._checkpoint)
            elif isinstance(process, Reader) and not process.leaving:
                self._reading.append(Reader(self, self.free_subtask()))

    # -- the run --

    async def run(self) -> None:
        self.disk = Disk()
        self.tokens = Tokens(self._folder, now_s)
        self.nodes = [Node(self.disk, self._folder, self.tokens) for _ in range(2)]
        keeping = asyncio.ensure_future(self._keep())
        await self._configure()
        self._reading = [Reader(self, self.free_subtask()) for _ in range(READERS)]
        self.query = Query(self, self._checkpoint)
        for act in self.schedule.acts:
            await asyncio.sleep(max(0.0, act.at_s - now_s()))
            self._befall(act)
        for each in self._mending:
            await each
        while not self._is_read():
            assert now_s() < ENDS_WITHIN_S, "not all rows were read"
            await asyncio.sleep(0.1)
        for each in self._reading:
            if isinstance(each, Reader):
                each.leaving = True
        while not all(each.ended for each in (*self._reading, self.query)):
            assert now_s() < ENDS_WITHIN_S, "not all have left"
            self._check()
            await asyncio.sleep(0.1)
        keeping.cancel()
        for node in self.nodes:
            await node.kill()
        self._expect()

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def _expect(self) -> None:
        file = self.new_file("expected")
        for source, split, log in (
            *(("orders", name, log) for name, log in self.topic.items()),
            *(("count", f"0/{name}", log) for name, log in self.other.items()),
        ):
            fields = {
                "k": "expect",
                "t": 0,
                "group": GROUP,
                "source": source,
                "split": split,
                "from": 0,
                "to": len(log),
            }
            self.write(file, fields)

    def _is_read(self) -> bool:
        self._check()
        positions = dict.fromkeys(self.topic, 0)
        for each in self._reading:
            if isinstance(each, Reader) and not each.ended:
                for name, split in each.open.items():
                    positions[name] = max(positions[name], split.position)
        return self.query.ended and all(positions[name] == len(log) for name, log in self.topic.items())

    def _check(self) -> None:
        for each in (*self._reading, self.query):
            each.check()

    async def _configure(self) -> None:
        splits = tuple(KafkaPartitionSplit("orders", partition, 0) for partition in range(PARTITIONS))
        await self.nodes[0].coordinator.configure(GROUP, self.config)
        await self.nodes[0].coordinator.put_list(GROUP, "orders", SplitList(splits=splits))

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(KEEP_S)
            self.disk.keep()

    # -- faults --

    def _befall(self, act: Act) -> None:
        living = [each for each in self._reading if isinstance(each, Reader) and not (each.ended or each.leaving)]
        reader, node = living[act.who % len(living)], self.nodes[act.who % len(self.nodes)]
        anyone: Process = [*living, self.query][act.who % (len(living) + 1)]
        if act.fault is Fault.KILL:
            reader.kill()
            self._reading.append(Reader(self, self.free_subtask()))
        elif act.fault is Fault.TAKEN:
            reader.stop()
            self._reading.append(Reader(self, reader.subtask))
            self._later(act, reader.go_on)
        elif act.fault is Fault.JOIN:
            self._reading.append(Reader(self, self.free_subtask()))
        elif act.fault is Fault.LEAVE and len(living) > 1:
            reader.leaving = True
        elif act.fault is Fault.KILL_QUERY and not self.query.ended:
            self.query.kill()
            self.query = Query(self, self._checkpoint)
        elif act.fault in (Fault.STOP, Fault.STOP_QUERY):
            stopped: Process = reader if act.fault is Fault.STOP else self.query
            stopped.stop()
            self._later(act, stopped.go_on)
        elif act.fault in (Fault.DELAY, Fault.LOSS, Fault.PARTITION, Fault.SLOW):
            self._break(act, anyone)
        elif act.fault is Fault.COORDINATOR:
            self._mending.append(asyncio.ensure_future(self._coordinator_dies(node, act.for_s)))
        else:
            self._befall_servers(act, node)

    def _befall_servers(self, act: Act, node: Node) -> None:
        if act.fault is Fault.STORE:
            self.disk.down = True
            self._later(act, lambda: setattr(self.disk, "down", False))
        elif act.fault in (Fault.FLUSH, Fault.FAILOVER):
            self.disk.fail_over(0 if act.fault is Fault.FLUSH else 1 + act.who % 4)
            if act.fault is Fault.FLUSH:
                self._mending.append(asyncio.ensure_future(self._list_again()))
        elif act.fault is Fault.CLOCK:
            self.disk.ahead_ms -= round(100 * act.for_s)
        elif act.fault is Fault.DISK:
            history = node.history
            history.full = True
            self._later(act, lambda: setattr(history, "full", False))
        elif act.fault is Fault.TOKENS:
            self._mending.append(asyncio.ensure_future(self._rotate(act)))
        elif act.fault is Fault.BROKER:
            self.no_leader += 1
            self._later(act, self._leader)

    def _leader(self) -> None:
        self.no_leader -= 1

    def _break(self, act: Act, process: Process) -> None:
        link = process.link
        process.slow_down()
        if act.fault is Fault.DELAY:
            link.slow_s = 0.2
        elif act.fault is Fault.LOSS:
            link.loss = 0.4
        elif act.fault is Fault.PARTITION:
            link.cut = True
        else:
            process.slow_s = 0.5

        def mend() -> None:
            link.slow_s, link.loss, link.cut, process.slow_s = 0.0, 0.0, False, 0.0
            process.recover()

        self._later(act, mend)

    def _later(self, act: Act, mend: Callable[[], None]) -> None:
        async def wait() -> None:
            await asyncio.sleep(act.for_s)
            mend()

        self._mending.append(asyncio.ensure_future(wait()))

    async def _coordinator_dies(self, node: Node, for_s: float) -> None:
        if not node.died.is_set():
            await node.kill()
            await asyncio.sleep(for_s)
            node.start()

    async def _rotate(self, act: Act) -> None:
        for step in self.tokens.rotation(act.who % 3):
            step()
            await asyncio.sleep(act.for_s / 2)

    async def _list_again(self) -> None:
        """The operator lists the partitions again once a reader has created the group again."""
        splits = tuple(KafkaPartitionSplit("orders", partition, 0) for partition in range(PARTITIONS))
        link = Link(random.Random(0))
        while True:
            await asyncio.sleep(0.05)
            for node in self.nodes:
                try:
                    await link.call(
                        node, lambda one: one.coordinator.put_list(GROUP, "orders", SplitList(splits=splits))
                    )
                except Exception:  # the group, the store or the node may not be there yet
                    continue
                return


def recorded(schedule: Schedule, folder: Path, rows: int = ROWS) -> list[Entry]:
    """Play a schedule, and return its history."""
    folder.mkdir(parents=True, exist_ok=True)
    loop = VirtualLoop()
    world = World(schedule, folder, rows)
    try:
        loop.run_until_complete(world.run())
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
        world.close()
    return list(read(sorted(folder.glob("*.jsonl"))))


def judged(seed: int, folder: Path) -> Verdict:
    """Play the schedule of `seed`, and judge its history."""
    return verify(recorded(drawn(seed), folder))
