"""Part `growth`: what one operation costs as its partitions, readers, groups or streams grow.

Each sweep measures one operation at several sizes, by processor time. The exponent is the slope of
log(cost) over log(size) by least squares: 0 costs the same at each size, 1 grows as the size does.
It is fitted to each round, over all sizes and over the last decade of sizes, where what does not
grow weighs least.
"""

import asyncio
import functools
import itertools
import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from redis import Redis

from benchmarks.scale import plans
from benchmarks.scale.virtual import T0, a_coordinator, end_all, in_virtual_time
from lockgate.enumerator.answers import assigned_to, wishes
from lockgate.enumerator.arrivals import LastReports
from lockgate.enumerator.exchange import create as new_enumerator
from lockgate.enumerator.exchange import exchange
from lockgate.enumerator.model import Enumerator
from lockgate.flink.elements import StreamElement
from lockgate.flink.multiplexer import WatermarkOutputMultiplexer
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.flink.valve import StatusWatermarkValve
from lockgate.group.alignment import evaluate
from lockgate.group.commands import Reports
from lockgate.group.group import Group, create
from lockgate.group.leases import after_silence
from lockgate.group.now import Now
from lockgate.group.reader import Reader
from lockgate.group.readers import Readers
from lockgate.group.turn import turn
from lockgate.simulate.sweep import default_drifts, sweep
from lockgate.simulate.workload import QueryLoad, SplitLoad, Stretch, Workload
from lockgate.steps import at_once
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent
from lockgate.wire.split_events import DiscoveredSplits, SplitExchange
from lockgate_coordinator.api.bodies import decoded
from lockgate_coordinator.api.stream import group_frames
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store import open_store
from lockgate_coordinator.store.records import encode, reader_from
from lockgate_coordinator.telemetry.changes import moved
from lockgate_testbed.redis import RedisServer

CONFIG = GroupConfig(lease_ms=30_000, update_interval_ms=1_000)
MINUTE, HOUR = 60_000, 3_600_000
Costs = Iterator[tuple[str, float]]
"""Names of operations, and how long each took (s)."""


@dataclass(frozen=True)
class Sweep:
    """Operations that are measured at each size of `axis`. `unit` divides their costs."""

    axis: str
    sizes: Sequence[int]
    costs: Callable[[int], Costs]


def spent(work: Callable[[], object]) -> float:
    """Return the processor seconds of `work`."""
    began = time.process_time()
    work()
    return time.process_time() - began


# -- the group's rule --


@functools.cache
def group_of(readers: int) -> Group:
    """Return a group whose readers were all heard within ten seconds, and offer a reach."""
    said = (ReportedWatermarkEvent(subtask=n, epoch=1, watermark=T0 + n, reach=T0 + n + 1_000) for n in range(readers))
    found = {("s", each.subtask): Reader(epoch=1, heard_at=T0 + each.subtask % 10_000, reported=each) for each in said}
    group = replace(create("g", CONFIG, T0), readers=Readers.of(found), started=True, heard_at=T0 + 10_000)
    return evaluate(group, Now(T0 + 10_000))[0]


def of_readers(readers: int) -> Costs:
    group, draw = group_of(readers), random.Random(readers)
    said = [
        Reports([("s", ReportedWatermarkEvent(subtask=draw.randrange(readers), epoch=1, watermark=T0 + 20_000 + n))])
        for n in range(100)
    ]

    def reports() -> None:
        after = group
        for n, report in enumerate(said):
            after = turn(after, [report], Now(T0 + 10_000 + n)).group

    yield "a report, alone in its turn", spent(reports) / len(said)
    later = Now(T0 + 100_000)
    yield "all readers are lost", spent(lambda: evaluate(group, later))
    yield "all are excused after an outage", spent(lambda: after_silence(group, later.ms))


def of_a_turn(reports: int) -> Costs:
    """Yield the cost of each step of a turn for one of its reports, in a group of 10,000."""
    group, now = group_of(10_000), T0 + 11_000
    bodies = [b'{"subtask":%d,"epoch":1,"watermark":%d}' % (n, now + n) for n in range(reports)]
    made, times = dict[str, Any](), max(1, 1_000 // reports)

    def step(name: str, work: Callable[[], object]) -> tuple[str, float]:
        return name, spent(lambda: [made.update({name: work()}) for _ in range(times)]) / times / reports

    yield step("decode", lambda: [("s", decoded(ReportedWatermarkEvent, body)) for body in bodies])
    yield step("rule", lambda: turn(group, [Reports(made["decode"])], Now(now)).group)
    yield step("journal", lambda: moved(group, made["rule"]))
    yield step("encode for Redis", lambda: [encode(reader) for _, _, reader in made["journal"]])
    yield step("decode from Redis", lambda: [reader_from(text) for text in made["encode for Redis"]])


def of_named(partitions: int) -> Costs:
    splits = ",".join(f'"topic-{n}":{{"watermark":{T0 + n},"state":"active"}}' for n in range(partitions))
    body = f'{{"subtask":1,"epoch":1,"watermark":{T0},"splits":{{{splits}}}}}'.encode()
    group, found = group_of(10), list[ReportedWatermarkEvent]()
    yield (
        "decode a report that names its partitions",
        spent(lambda: found.append(decoded(ReportedWatermarkEvent, body))),
    )
    yield "apply it", spent(lambda: turn(group, [Reports([("s", found[0])])], Now(T0 + 11_000)))


# -- the service --


async def _service(groups: int, readers: int, rounds: int, *, streams: bool) -> float:
    coordinator = a_coordinator()
    epochs = {}
    for name, subtask in itertools.product(map(str, range(groups)), range(readers)):
        event = ReaderRegistrationEvent(subtask=subtask, config=CONFIG)
        epochs[name, subtask] = (await coordinator.register(name, "s", event)).epoch

    async def follow(name: str) -> None:
        async for _ in group_frames(await coordinator.follow(name, -1)):
            pass

    if streams:
        following = [asyncio.create_task(follow(name)) for name, _ in epochs]
        await asyncio.sleep(1)
    spread, took = 1 / len(epochs), list[float]()
    for _ in range(rounds):
        began = time.process_time()
        for (name, subtask), epoch in epochs.items():
            now = T0 + round(1_000 * asyncio.get_running_loop().time())
            await coordinator.report(
                name, "s", ReportedWatermarkEvent(subtask=subtask, epoch=epoch, watermark=now, reach=now + 1_000)
            )
            await asyncio.sleep(spread)
        took.append(time.process_time() - began)
    assert not streams or not any(task.done() for task in following)
    await end_all(coordinator)
    return statistics.median(took) / len(epochs)


def of_groups(groups: int) -> Costs:
    yield "a report, readers of 10", in_virtual_time(_service(groups, 10, 2, streams=False))


def of_live_readers(readers: int) -> Costs:
    yield "a report that each reader's stream hears", in_virtual_time(_service(1, readers, 2, streams=True))


async def _over_redis(redis: RedisServer, groups: int, readers: int) -> Costs:
    """Return the processor seconds of the coordinator and of Redis for one report."""
    coordinator, draw = Coordinator(open_store(redis.url)), random.Random(readers)
    epochs = dict[tuple[str, int], int]()

    async def report(name: str, subtask: int, watermark: int) -> None:
        event = ReportedWatermarkEvent(subtask=subtask, epoch=epochs[name, subtask], watermark=watermark)
        await coordinator.report(name, "s", event)

    async def begin(name: str) -> None:
        events = [ReaderRegistrationEvent(subtask=subtask, config=CONFIG) for subtask in range(readers)]
        answers = await asyncio.gather(*(coordinator.register(name, "s", event) for event in events))
        epochs.update({(name, each.subtask): each.epoch for each in answers})
        await asyncio.gather(*(report(name, subtask, subtask) for subtask in range(readers)))

    for first in range(0, groups, 50):
        await asyncio.gather(*(begin(str(number)) for number in range(first, min(groups, first + 50))))
    with Redis.from_url(redis.url) as client:

        def used() -> float:
            found = client.info("cpu")
            return float(found["used_cpu_user"]) + float(found["used_cpu_sys"])

        reports = max(200, groups)
        began, of_redis = time.process_time(), used()
        for n in range(reports):
            await report(str(n % groups), draw.randrange(readers), T0 + n)
        took = time.process_time() - began, used() - of_redis
    await end_all(coordinator)
    kind = "a report over Redis" if groups == 1 else "a report over Redis, readers of 5"
    return iter(((f"{kind}: the coordinator", took[0] / reports), (f"{kind}: Redis", took[1] / reports)))


def of_redis_readers(readers: int) -> Costs:
    with RedisServer() as redis:
        return asyncio.run(_over_redis(redis, 1, readers))


def of_redis_groups(groups: int) -> Costs:
    with RedisServer() as redis:
        return asyncio.run(_over_redis(redis, groups, 5))


# -- the splits of a source --


def of_splits(splits: int) -> Costs:
    """Yield the costs of one exchange each, of one reader out of a hundred."""
    now, readers, enumerator = 1_000_000, 100, new_enumerator(CONFIG, 1_000_000)

    def said(before: Enumerator, subtask: int, event: SplitExchange, now_ms: int) -> tuple[Enumerator, float]:
        began = time.process_time()
        reader = (subtask, event.epoch)
        after = at_once(exchange(before, reader, "s", event, CONFIG, Now(now_ms), LastReports({}, "s"))).enumerator
        wishes(after, reader, event, now_ms)
        return after, time.process_time() - began

    for subtask in range(readers):
        enumerator, _ = said(enumerator, subtask, SplitExchange(epoch=1), now)
    now += 5_000
    listed = tuple(KafkaPartitionSplit(f"topic-{part % 100}", part // 100, 0) for part in range(splits))
    found = DiscoveredSplits(splits=listed, request=1_000_000)
    enumerator, took = said(enumerator, 0, SplitExchange(epoch=1, discovered=found, discovery_interval_ms=0), now)
    assert enumerator.count() == splits
    yield "all splits listed and assigned", took
    held = assigned_to(enumerator, (1, 1))
    enumerator, took = said(enumerator, 1, SplitExchange(epoch=1, held=held), now)
    yield "a snapshot of one reader", took
    yield "one more reader", said(enumerator, readers, SplitExchange(epoch=1), now)[1]
    for later_ms in range(0, CONFIG.lease_ms, CONFIG.lease_ms // 4):
        for subtask in range(1, readers):
            enumerator, _ = said(enumerator, subtask, SplitExchange(epoch=1), now + later_ms)
    enumerator, took = said(enumerator, 1, SplitExchange(epoch=1), now + CONFIG.lease_ms)
    assert len(enumerator.readers) == readers - 1
    yield "the splits of a lost reader", took


# -- what has no coordinator --


class _Unread:
    def emit(self, element: StreamElement) -> None: ...

    def emit_watermark(self, timestamp: int) -> None: ...

    def mark_idle(self) -> None: ...

    def mark_active(self) -> None: ...


def of_channels(channels: int) -> Costs:
    made = WatermarkOutputMultiplexer(_Unread())
    for name in range(channels):
        made.register(str(name))
    emit = [made.immediate(str(name)).emit_watermark for name in range(channels)]
    order = random.Random(7).choices(range(channels), k=20_000)
    kinds: tuple[tuple[str, Callable[[int, int], object]], ...] = (
        ("an update of the valve", StatusWatermarkValve(channels, _Unread()).input_watermark),
        ("an update of the multiplexer", lambda channel, timestamp: emit[channel](timestamp)),
    )
    for kind, update in kinds:
        for channel in range(channels):
            update(channel, channel % 100)

        def updates(update: Callable[[int, int], object] = update) -> None:
            for step, channel in enumerate(order):
                update(channel, 100 + step)

        yield kind, spent(updates) / len(order)


def of_advised(splits: int) -> Costs:
    """Yield the costs of `lockgate advise` for a backlog, and for producers with a lag."""
    draw, day = random.Random(splits), T0 + 24 * HOUR
    old = tuple(
        SplitLoad(f"s-{n}", (Stretch(draw.randrange(1_000, 10_000), T0 + draw.randrange(6 * HOUR), day),))
        for n in range(splits)
    )
    lags = (0, 1_000, 30_000, 120_000, 600_000)
    new = tuple(
        SplitLoad(f"s-{n}", (Stretch(draw.randrange(1_000, 100_000), T0, day),), draw.choice(lags))
        for n in range(splits)
    )
    for name, loads, more in (("a backlog", old, {"budget": 500_000}), ("a live day", new, {"trigger_ms": MINUTE})):
        query = QueryLoad(
            name="orders", splits=loads, records_per_second=2e5, delay_ms=20 * MINUTE, window_ms=HOUR, **more
        )
        workload = Workload(queries=(query,))
        yield f"advise for {name}", spent(lambda workload=workload: sweep(workload, default_drifts(workload)))  # type: ignore[misc]


SWEEPS = {
    "readers": Sweep("readers of the group", (10, 100, 1_000, 2_000, 10_000), of_readers),
    "turn": Sweep("reports of the turn", (1, 32, 1_000, 10_000), of_a_turn),
    "named": Sweep("partitions of the reader", (10, 100, 1_000, 5_000, 10_000), of_named),
    "groups": Sweep("groups of the coordinator", (1, 10, 100, 1_000), of_groups),
    "redis": Sweep("readers of the group", (10, 100, 1_000, 10_000), of_redis_readers),
    "redis-groups": Sweep("groups of the coordinator", (10, 100, 1_000, 2_000), of_redis_groups),
    "live": Sweep("readers of the group, all live", (10, 30, 100, 300), of_live_readers),
    "splits": Sweep("splits of the source", (100, 1_000, 10_000, 50_000, 100_000), of_splits),
    "plans": Sweep("partitions of the query", plans.SIZES, plans.costs),
    "advise": Sweep("partitions of the workload", (100, 1_000, 10_000), of_advised),
    "channels": Sweep("channels", (10, 100, 1_000, 10_000, 100_000), of_channels),
}


def exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """Return the slope of log(cost) over log(size) by least squares."""
    pairs = [(math.log(size), math.log(max(cost, 1e-9))) for size, cost in zip(sizes, costs, strict=True)]
    return float(np.polyfit(*zip(*pairs, strict=True), 1)[0]) if len(pairs) > 1 else 0.0


def measured(name: str, sizes: Sequence[int], rounds: int, progress: Callable[[int], None]) -> Iterator[dict[str, Any]]:
    """Yield the costs and exponents of each operation of a sweep."""
    found: dict[str, list[list[float]]] = {}
    for number, size in itertools.product(range(rounds), sizes):
        for operation, cost in SWEEPS[name].costs(size):
            by_round = found.setdefault(operation, [[] for _ in range(rounds)])
            by_round[number].append(cost)
        progress(number * len(sizes) + sizes.index(size) + 1)
    last = next(n for n, size in enumerate(sizes) if 10 * size >= sizes[-1] or n == len(sizes) - 1)
    for operation, by_round in found.items():
        costs = [sorted(each) for each in zip(*by_round, strict=True)]
        whole = sorted(exponent(sizes, each) for each in by_round)
        end = sorted(exponent(sizes[last:], each[last:]) for each in by_round)
        yield {
            "sweep": name,
            "axis": SWEEPS[name].axis,
            "operation": operation,
            "costs": [
                {"size": size, "s": statistics.median(each), "least": each[0], "most": each[-1]}
                for size, each in zip(sizes, costs, strict=True)
            ],
            "exponent": {"median": statistics.median(whole), "least": whole[0], "most": whole[-1]},
            "last_decade": {"median": statistics.median(end), "least": end[0], "most": end[-1]},
        }
