"""The forms of reading: records, an event loop, Arrow batches; and a service that is told
to end.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pyarrow as pa
import pytest

from lockgate_reader import AlignedConsumer
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker

Consumers = Callable[..., AlignedConsumer]
T0 = 1_767_225_600_000

pytestmark = pytest.mark.kafka


def filled(kafka: KafkaBroker, topic: str, each: int = 60) -> None:
    topics.create(kafka.bootstrap, topic, 3)
    topics.produce(
        kafka.bootstrap, topic, [(p, T0 + n * 1_000 * (p + 1), b"k", b"%d" % n) for n in range(each) for p in range(3)]
    )


async def test_an_event_loop_gets_every_record_while_others_run(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.005)

    ticking = asyncio.create_task(tick())
    async with consumer_of(topic, max_drift="10 seconds", ending_offsets="latest") as consumer:
        seen = [(record.partition(), record.offset()) async for record in consumer]
    ticking.cancel()
    assert sorted(seen) == [(partition, offset) for partition in range(3) for offset in range(60)]
    assert ticks > 5


async def test_a_task_that_is_cancelled_leaves_a_consumer_that_closes(
    kafka: KafkaBroker, topic: str, consumer_of: Consumers
) -> None:
    filled(kafka, topic, 2)
    consumer = consumer_of(topic)

    async def read() -> None:
        async with consumer:
            async for _ in consumer:
                pass

    task = asyncio.create_task(read())
    done, _ = await asyncio.wait({task}, timeout=2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not done
    assert consumer.status().sentence == "The consumer is closed."


def test_batches_have_the_records_as_columns(kafka: KafkaBroker, topic: str, consumer_of: Consumers) -> None:
    filled(kafka, topic)
    batches = list(consumer_of(topic, max_drift="20 seconds", ending_offsets="latest").batches(50))
    assert max(batch.num_rows for batch in batches) <= 50
    table = pa.Table.from_batches(batches)
    assert max(batch.num_rows for batch in batches) == 50
    assert table.column_names == ["topic", "partition", "offset", "timestamp", "key", "value"]
    assert sorted(zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True)) == [
        (partition, offset) for partition in range(3) for offset in range(60)
    ]
    for row in table.slice(0, 20).to_pylist():
        assert row["topic"] == topic
        assert row["value"] == b"%d" % row["offset"]
        assert row["timestamp"].timestamp() * 1_000 == T0 + row["offset"] * 1_000 * (row["partition"] + 1)


def test_batches_never_reach_above_the_ceiling(kafka: KafkaBroker, topic: str, consumer_of: Consumers) -> None:
    filled(kafka, topic)
    consumer = consumer_of(topic, max_drift="4 seconds", ending_offsets="latest")
    left = {p: [T0 + n * 1_000 * (p + 1) for n in range(60)][::-1] for p in range(3)}
    for batch in consumer.batches(20):
        lowest = min(times[-1] for times in left.values() if times)
        for partition in batch["partition"].to_pylist():
            assert left[partition].pop() <= max(lowest + 4_000, consumer.status().read_limit)
    assert left == {0: [], 1: [], 2: []}


SERVICE = """
import sys
from lockgate_reader import AlignedConsumer
bootstrap, topic = sys.argv[1:]
kafka = {"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"}
kafka |= {"enable.auto.commit": True, "auto.commit.interval.ms": 3_600_000}
with AlignedConsumer(topic, kafka=kafka) as consumer:
    for record in consumer:
        print(record.offset(), flush=True)
print("closed", flush=True)
"""


def test_sigterm_ends_a_service_cleanly_and_commits(kafka: KafkaBroker, topic: str, consumer_of: Consumers) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, T0 + n, None, b"v") for n in range(5)])
    service = subprocess.Popen(
        [sys.executable, "-c", SERVICE, kafka.bootstrap, topic], stdout=subprocess.PIPE, text=True
    )
    assert service.stdout is not None
    assert [service.stdout.readline() for _ in range(5)] == [f"{n}\n" for n in range(5)]
    os.kill(service.pid, signal.SIGTERM)
    assert service.communicate(timeout=30)[0] == "closed\n"
    assert service.returncode == 0
    topics.produce(kafka.bootstrap, topic, [(0, T0 + 9, None, b"v")])
    assert next(iter(consumer_of(topic, {"group.id": topic}, starting_offsets="committed"))).offset() == 5
