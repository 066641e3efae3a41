"""A live topic that is read by one `availableNow` run after the other, as a scheduler starts
them.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark import Alignment, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from support.queries import PATIENCE_S, WindowedCount, kafka_stream

LAGS_MS = (0, 0, 45_000)  # of each partition's producer
RUNS = 20


class Runs:
    """Runs of one query over one checkpoint, and their counts together."""

    def __init__(self, df: DataFrame, checkpoint: Path) -> None:
        self._df, self._checkpoint = df, checkpoint
        self.windows: dict[object, int] = {}

    def run(self) -> int:
        """One more; how many rows all of them have counted."""
        query = WindowedCount(self._df, delay="10 seconds", window="1 second").start(self._checkpoint).finish()
        self.windows.update(query.windows)
        return sum(self.windows.values())


@contextmanager
def fed(kafka: KafkaBroker, topic: str) -> Iterator[Counter[int]]:
    """Live producers meanwhile; counts the records of each partition that the broker has."""
    written: Counter[int] = Counter()
    ended = threading.Event()

    def feed() -> None:
        while not ended.wait(0.1):
            now = int(time.time() * 1000)
            topics.produce(
                kafka.bootstrap, topic, [(partition, now - lag, None, b"x") for partition, lag in enumerate(LAGS_MS)]
            )
            written.update(range(len(LAGS_MS)))

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    try:
        yield written
    finally:
        ended.set()
        thread.join()


@pytest.mark.long
def test_twenty_runs_over_a_live_topic_lose_nothing_of_a_producer_that_lags_where_native_ones_do(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, len(LAGS_MS))
    stream = kafka_stream(spark, kafka.bootstrap, topic)
    native, aligned = (
        Runs(stream, tmp_path / "native"),
        Runs(align(stream, Alignment(idle_timeout="1 minute")), tmp_path / "aligned"),
    )
    with fed(kafka, topic) as written:
        for _ in range(RUNS):
            native.run()
            aligned.run()
    assert min(written.values()) > 2 * RUNS
    ends = time.monotonic() + PATIENCE_S
    # what a run may not read yet it leaves to the next one
    while (counted := aligned.run()) < written.total():
        assert time.monotonic() < ends, f"{counted} of {written.total()} only"
    assert counted == written.total()
    assert native.run() < written.total()
