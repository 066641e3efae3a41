"""A checkpoint goes from native to aligned and back, survives kill -9, and what it lost before is said."""

import logging
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import support
from lockgate_spark import Alignment, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic
from support.queries import WindowedCount, kafka_stream

DRIVER = Path(support.__path__[0]) / "killable_driver.py"


class Driver:
    """The application of `killable_driver.py` in a process group of its own: Python and its JVM die together."""

    def __init__(self, *arguments: object) -> None:
        tests = str(DRIVER.parent.parent)
        self.process = subprocess.Popen(
            [sys.executable, str(DRIVER), *map(str, arguments)],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": tests},
        )

    def read_until(self, line: str) -> None:
        assert self.process.stdout is not None
        assert any(said.strip() == line for said in self.process.stdout), f"ended before {line!r}"

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def rows_written(out: Path) -> Counter[str]:
    return Counter(row for file in out.glob("*.txt") for row in file.read_text().splitlines())


@pytest.mark.parametrize("moment", ["begins 2", "wrote 3"])
def test_a_driver_killed_in_the_middle_of_a_batch_goes_on_without_a_row_lost_or_doubled(
    kafka: KafkaBroker, topic: str, tmp_path: Path, moment: str
) -> None:
    spec = SkewedTopic(topic, records=20_000, late_start_hours=6)
    topics.load(kafka.bootstrap, spec)
    out = tmp_path / "out"
    out.mkdir()
    arguments = (kafka.bootstrap, topic, tmp_path / "checkpoint", out, 2_000)
    first = Driver(*arguments)
    first.read_until(moment)
    first.kill()
    second = Driver(*arguments)
    second.read_until("finished")
    assert second.process.wait() == 0
    written = rows_written(out)
    expected = {f"{partition} {offset}" for partition, count in enumerate(spec.counts()) for offset in range(count)}
    assert set(written) == expected
    assert max(written.values()) == 1


def test_a_checkpoint_goes_from_native_to_aligned_and_back(spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path) -> None:
    topics.load(kafka.bootstrap, SkewedTopic(topic, records=20_000))
    counted = []
    for turn in ("native", "aligned", "native"):
        stream = kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=1_000)
        query = WindowedCount(align(stream) if turn == "aligned" else stream, delay="10 days")
        query.start(tmp_path, available_now=False)
        query.wait_until(lambda q: len(q.alignments) >= 3)
        query.stop()
        assert bool(query.plans) == (turn == "aligned")
        counted.append(query)
    last = WindowedCount(align(kafka_stream(spark, kafka.bootstrap, topic)), delay="10 days").start(tmp_path).finish()
    latest = {window: count for query in [*counted, last] for window, count in query.windows.items()}
    assert sum(latest.values()) == 20_000


def test_what_a_native_checkpoint_has_lost_already_is_said_with_the_number_of_rows(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    hour = 3_600_000
    topics.produce(kafka.bootstrap, topic, [(0, 10 * hour, None, b"ahead")])
    WindowedCount(kafka_stream(spark, kafka.bootstrap, topic)).start(tmp_path).finish()
    topics.produce(kafka.bootstrap, topic, [(1, hour + n, None, b"behind") for n in range(7)] + [(1, 11 * hour, None, b"level")])
    with caplog.at_level(logging.WARNING, "lockgate"):
        counted = WindowedCount(align(kafka_stream(spark, kafka.bootstrap, topic))).start(tmp_path).finish().counted
    warning = next(record.getMessage() for record in caplog.records if "new checkpoint" in record.getMessage())
    assert "7 unread offsets" in warning
    assert counted <= 2


def test_a_delay_shorter_than_the_drift_is_said_with_both_figures(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, 3_600_000, None, b"x")])
    stream = kafka_stream(spark, kafka.bootstrap, topic)
    for delay, warned in (("10 minutes", False), ("5 minutes", True)):
        caplog.clear()
        WindowedCount(align(stream, Alignment(max_drift="10 minutes")), delay=delay).start(tmp_path / delay).finish()
        assert any("delay is 5 minutes, and max_drift is 10 minutes" in r.getMessage() for r in caplog.records) == warned


def test_partitions_added_while_the_query_is_down_are_read_from_their_first_record(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, 3_600_000 + n, None, b"x") for n in range(10)])
    stream = align(kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=5))
    WindowedCount(stream).start(tmp_path).finish()
    topics.widen(kafka.bootstrap, topic, 3)
    topics.produce(kafka.bootstrap, topic, [(n % 3, 3_600_100 + n, None, b"x") for n in range(30)])
    assert WindowedCount(stream).start(tmp_path).finish().counted == 40
