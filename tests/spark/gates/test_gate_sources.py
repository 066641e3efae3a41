"""A gate takes part for its query as a whole: on a source that is no file, and without a word from
its executors.
"""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from lockgate_http.group.membership import Membership
from lockgate_spark import Alignment, Coordinator, UnsupportedQuery, gate, report_progress
from support.answers import wait_for
from support.gated import write_batches
from support.members import MINUTE, at, reported


def test_a_batch_of_the_rate_source_is_held_and_then_handed_on(
    spark: SparkSession, url: str, group: str, peer: Membership, tmp_path: Path
) -> None:
    handed: list[int] = []
    held = gate(
        lambda batch, _: handed.extend(row["value"] for row in batch.collect()),
        event_time="90000 + value",
        alignment=Alignment(coordinator=Coordinator(url, group=group, source="gated")),
    )
    stream = spark.readStream.format("rate").option("rowsPerSecond", 10).load()
    query = stream.writeStream.foreachBatch(held).option("checkpointLocation", str(tmp_path)).start()
    try:
        wait_for(lambda: reported(url, group, "gated") == 89_999)
        assert handed == []
        peer.exchange(at(MINUTE // 2))
        wait_for(lambda: handed)
        assert handed[0] == 0, "its lowest event time is at the ceiling now"
    finally:
        query.stop()


def test_report_progress_is_refused_in_a_gated_query_and_in_a_plain_one(
    spark: SparkSession, url: str, group: str, peer: Membership, tmp_path: Path
) -> None:
    refused: list[str] = []

    def work(batch: DataFrame, _: int) -> None:
        with pytest.raises(UnsupportedQuery) as raised:
            report_progress(batch)
        refused.append(str(raised.value))

    stream = spark.readStream.schema("ts TIMESTAMP").json(str(write_batches(tmp_path / "files", [[30_000]])))
    gated = gate(work, event_time="ts", alignment=Alignment(coordinator=Coordinator(url, group=group, source="gated")))
    for name, fn in (("plain", work), ("gated", gated)):
        query = (
            stream.writeStream.foreachBatch(fn)
            .option("checkpointLocation", str(tmp_path / name))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
    assert ["needs a query that is aligned through a coordinator" in why for why in refused] == [True, True]
