"""Records per second: a bare confluent-kafka loop, and `lockgate_reader` over the same topic, in
turn (`make bench-reader`).

Each run reads the whole topic and takes from each record the length of its value and its time. The
kinds: `poll`, the loop of confluent-kafka's own examples, one record a call; `consume`, the same in
chunks of 500, the fastest that was found; `columns`, such chunks made into Arrow batches of 5,000
by hand, with the columns of the aligned consumer's; `records` and `batches`, the aligned consumer,
with a drift that pauses nothing; `paused`, records with `--drift`, which pauses the sparse
partitions again and again. All have the same settings of the client, those of the reader, and each
looks for errors among the messages, as any program has to. A round before the counted ones is left
out. Prints each run, and a table of the medians and of the ratios pair by pair.
"""

import argparse
import gc
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition

from benchmarks.tables import markdown, show, spread
from lockgate_reader import AlignedConsumer
from lockgate_reader.columns import SCHEMA
from lockgate_reader.kafka import AHEAD
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.progress import progress_bar
from lockgate_testbed.skew import SkewedTopic

KINDS = ("poll", "consume", "columns", "records", "batches", "paused")
COLUMNS = ("", "records/s", "to `consume` by the clock", "by processor time of the reading thread")
ROWS = 5_000


@dataclass(frozen=True, slots=True)
class Rate:
    """The speed of one run: records per second by the clock, and per second of the thread."""

    by_clock: float
    by_processor: float


def bare(bootstrap: str, topic: SkewedTopic) -> Consumer:
    """Make a consumer of all partitions, from their beginning."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "bare", "enable.auto.commit": False, **AHEAD}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic.name, number, OFFSET_BEGINNING) for number in range(topic.partitions)])
    return consumer


def loop_of_polls(bootstrap: str, topic: SkewedTopic) -> Rate:
    """Read by the loop of confluent-kafka's examples."""
    consumer, watch, count, size, latest = bare(bootstrap, topic), Watch(), 0, 0, 0
    while count < topic.records:
        message = consumer.poll(1.0)
        if message is None or message.error() is not None:
            continue
        if not count:
            watch.begin()
        count += 1
        size += len(message.value())
        latest = max(latest, message.timestamp()[1])
    return watch.stop(count, consumer.close)


def loop_of_chunks(bootstrap: str, topic: SkewedTopic) -> Rate:
    """Chunks of 500."""
    consumer, watch, count, size, latest = bare(bootstrap, topic), Watch(), 0, 0, 0
    while count < topic.records:
        messages = consumer.consume(500, 1.0)
        if messages and not count:
            watch.begin()
        for message in messages:
            if message.error():
                continue
            count += 1
            size += len(message.value())
            latest = max(latest, message.timestamp()[1])
    return watch.stop(count, consumer.close)


def loop_of_columns(bootstrap: str, topic: SkewedTopic) -> Rate:
    """Chunks of 500, in Arrow batches."""
    consumer, watch, count, size, latest = bare(bootstrap, topic), Watch(), 0, 0, None
    while count < topic.records:
        batch = batch_by_hand(consumer, topic.name, min(ROWS, topic.records - count))
        if not count:
            watch.begin()
        count += batch.num_rows
        size += pc.sum(pc.binary_length(batch["value"])).as_py()
        latest = pc.max(batch["timestamp"])
    assert latest is not None
    return watch.stop(count, consumer.close)


def batch_by_hand(consumer: Consumer, topic: str, rows: int) -> pa.RecordBatch:
    """Return the next records as Arrow. A chunk is taken apart at once: 5,000 messages do not fit a
    cache.
    """
    partitions, offsets, times, keys, values = [], [], [], [], []
    while len(values) < rows:
        messages = consumer.consume(min(500, rows - len(values)), 1.0)
        if any(map(Message.error, messages)):
            messages = [message for message in messages if message.error() is None]
        partitions += map(Message.partition, messages)
        offsets += map(Message.offset, messages)
        times += [message.timestamp()[1] for message in messages]
        keys += map(Message.key, messages)
        values += map(Message.value, messages)
    columns = [
        pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([topic])),
        pa.array(partitions, pa.int32()),
        pa.array(offsets, pa.int64()),
        pa.array(times, pa.timestamp("ms", tz="UTC")),
        pa.array(keys, pa.binary()),
        pa.array(values, pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def aligned(bootstrap: str, topic: SkewedTopic, drift: str) -> AlignedConsumer:
    """Make the aligned consumer, until the end of the topic."""
    return AlignedConsumer(
        topic.name,
        kafka={"bootstrap.servers": bootstrap},
        starting_offsets="earliest",
        ending_offsets="latest",
        max_drift=drift,
    )


def aligned_records(bootstrap: str, topic: SkewedTopic, drift: str) -> Rate:
    """Read by the aligned consumer, record by record."""
    consumer, watch, size, latest = aligned(bootstrap, topic, drift), Watch(), 0, 0
    records = iter(consumer)
    next(records)
    watch.begin()
    for message in records:
        size += len(message.value() or b"")
        latest = max(latest, message.timestamp()[1])
    return watch.stop(topic.records, consumer.close)


def aligned_batches(bootstrap: str, topic: SkewedTopic) -> Rate:
    """Read by the aligned consumer, in Arrow batches."""
    consumer, watch, count, size, latest = aligned(bootstrap, topic, "2 days"), Watch(), 0, 0, None
    for batch in consumer.batches(ROWS):
        if not count:
            watch.begin()
        count += batch.num_rows
        size += pc.sum(pc.binary_length(batch["value"])).as_py()
        latest = pc.max(batch["timestamp"])
    assert latest is not None
    assert count == topic.records
    return watch.stop(count, consumer.close)


class Watch:
    """The time from the first record on."""

    def __init__(self) -> None:
        self._began = 0.0, 0.0

    def begin(self) -> None:
        """Start the clock, since the first record is there."""
        self._began = time.perf_counter(), time.thread_time()

    def stop(self, count: int, close: Callable[[], None]) -> Rate:
        """Return the rate of that many records until now, and close."""
        clock, processor = time.perf_counter() - self._began[0], time.thread_time() - self._began[1]
        close()
        return Rate(count / clock, count / processor)


def run(kind: str, bootstrap: str, topic: SkewedTopic, drift: str) -> Rate:
    """One run of a kind. No run pays for the garbage of the one before."""
    gc.collect()
    if kind == "poll":
        return loop_of_polls(bootstrap, topic)
    if kind == "consume":
        return loop_of_chunks(bootstrap, topic)
    if kind == "columns":
        return loop_of_columns(bootstrap, topic)
    if kind == "batches":
        return aligned_batches(bootstrap, topic)
    return aligned_records(bootstrap, topic, drift if kind == "paused" else "2 days")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000, help="records in the topic (default 1,000,000)")
    parser.add_argument("--pairs", type=int, default=5, help="counted rounds of runs, each kind once (default 5)")
    parser.add_argument("--drift", default="30 minutes", help="max_drift of the kind paused (default 30 minutes)")
    chosen = parser.parse_args()
    topic = SkewedTopic("bench-reader", records=chosen.records)
    found: dict[str, list[Rate]] = {kind: [] for kind in KINDS}
    with KafkaBroker(heap="1g") as broker:
        with progress_bar("loading", chosen.records) as progress:
            topics.load(broker.bootstrap, topic, progress)
        for pair in range(chosen.pairs + 1):
            for kind in KINDS if pair % 2 else reversed(KINDS):
                made = run(kind, broker.bootstrap, topic, chosen.drift)
                turn = "warm-up" if pair == 0 else f"pair {pair}"
                print(
                    f"{turn:8} {kind:8} {made.by_clock:12,.0f} records/s {made.by_processor:12,.0f} a second of the"
                    " thread",
                    flush=True,
                )
                if pair:
                    found[kind].append(made)
    show("reader", table(found), {kind: [asdict(made) for made in runs] for kind, runs in found.items()})


def table(found: dict[str, list[Rate]]) -> str:
    """Return the rates of each kind, and the ratios to the fastest loop pair by pair."""
    rows = []
    for kind, runs in found.items():
        pairs = list(zip(runs, found["consume"], strict=True))
        clock = [made.by_clock / base.by_clock for made, base in pairs]
        processor = [made.by_processor / base.by_processor for made, base in pairs]
        rates = spread([made.by_clock for made in runs])
        rows.append((f"`{kind}`", rates, spread(clock, ".2f"), spread(processor, ".2f")))
    return markdown(COLUMNS, rows)


if __name__ == "__main__":
    main()
