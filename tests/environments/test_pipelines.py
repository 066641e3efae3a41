"""Spark Declarative Pipelines: a table of hours in Python, one in SQL over it, over a skewed topic.
Nothing but the stream's options speaks of alignment.
"""

import json
from pathlib import Path

import pyarrow.parquet
import pytest

from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS, SkewedTopic
from lockgate_testbed.spark_programs import pipelines
from support.environments import PATIENCE_S
from support.stream_jobs import apart, batch_ends, expected_counts

pytestmark = pytest.mark.long

SPEC = """\
name: hours
storage: file://{folder}/storage
libraries:
  - glob:
      include: transformations/**
"""
HOURS = """\
from pyspark import pipelines as dp
from pyspark.sql import SparkSession
from pyspark.sql.functions import window

OPTIONS = {options}


@dp.table
def hours():
    stream = SparkSession.active().readStream.format("kafka").options(**OPTIONS).load()
    counts = stream.withWatermark("timestamp", "10 minutes").groupBy(window("timestamp", "1 hour")).count()
    return counts.selectExpr("unix_millis(window.start) AS begin", "count")
"""
DOUBLED = "CREATE STREAMING TABLE doubled AS SELECT begin, count * 2 AS twice FROM STREAM hours;\n"


def test_a_pipeline_in_python_and_sql_loses_no_row_and_reads_level(
    server_jar: Path, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    spec = SkewedTopic(topic, weights=(1, 2, 4, 4), records=4_000, late_start_hours=6)
    topics.load(kafka.bootstrap, spec)
    options = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    options |= {"maxOffsetsPerTrigger": "500", "lockgate.align": "true"}
    (tmp_path / "transformations").mkdir()
    (tmp_path / "spark-pipeline.yml").write_text(SPEC.format(folder=tmp_path))
    (tmp_path / "transformations" / "hours.py").write_text(HOURS.format(options=json.dumps(options)))
    (tmp_path / "transformations" / "doubled.sql").write_text(DOUBLED)
    warehouse = tmp_path / "warehouse"
    run = ("run", "--spec", tmp_path / "spark-pipeline.yml")
    conf = {"spark.sql.warehouse.dir": str(warehouse)}
    running = pipelines("a pipeline", tmp_path / "log", *run, jars=[server_jar], conf=conf)

    assert "Run is COMPLETED" in running.wait(PATIENCE_S)

    (checkpoint,) = (tmp_path / "storage").glob("_checkpoints/*/*/hours/hours/0")
    assert max(apart(spec, ends) for ends in batch_ends(checkpoint, topic)) == 0
    expected = expected_counts(spec, HOUR_MS)
    counts = rows(warehouse / "hours", "count")
    assert len(counts) >= 20
    assert all(counts[begin] == expected[begin] for begin in counts)
    assert rows(warehouse / "doubled", "twice") == {begin: 2 * count for begin, count in counts.items()}


def rows(folder: Path, of: str) -> dict[int, int]:
    """The rows of a table: begin of the hour, and a column."""
    return {row["begin"]: row[of] for row in pyarrow.parquet.read_table(folder).to_pylist()}
