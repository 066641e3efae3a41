"""A gate holds the batches of a query on any source until its group allows them."""

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from lockgate_http.group.membership import Membership
from lockgate_spark import Alignment, ConfigurationError, Coordinator, gate
from support.answers import wait_for
from support.gated import Gated, write_batches
from support.members import MINUTE, at, inspect, reported, state

NEVER = "http://127.0.0.1:9"
IN_2099 = 4_070_908_800_000


@pytest.fixture(autouse=True)
def nothing_left_running(spark: SparkSession) -> Iterator[None]:
    yield
    for query in spark.streams.active:
        query.stop()


def test_a_batch_waits_until_the_group_allows_its_lowest_event_time(
    spark: SparkSession, url: str, group: str, peer: Membership, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    batches = [[30_000, 10_000], [90_000, 400_000], [85_000]]
    gated = Gated(spark, write_batches(tmp_path / "files", batches), url, group).start(tmp_path / "checkpoint")
    wait_for(lambda: reported(url, group, "gated") == 89_999)
    assert len(gated.handed) == 1
    peer.exchange(at(MINUTE // 2))
    gated.finish()
    assert gated.handed == batches
    wait_for(lambda: state(url, group, "gated") == "finished")
    first, second = (view for view in gated.views[:2] if view is not None)
    assert (first.limited_by.value, first.target, first.read_limit) == ("end", 30_000, MINUTE)
    assert (second.limited_by.value, second.target) == ("group", 400_000)
    assert [(held.source, held.watermark) for held in second.blocked_by] == [("peer", MINUTE // 2)]
    assert "batch 2 has event times from 1970-01-01T00:01:25.000Z" in caplog.text, "the file came out of order"


def test_stopped_query_ends_at_once_and_its_batch_waits_again(
    spark: SparkSession, url: str, group: str, peer: Membership, tmp_path: Path
) -> None:
    gated = Gated(spark, write_batches(tmp_path / "files", [[90_000]]), url, group)
    for _ in range(2):
        gated.start(tmp_path / "checkpoint")
        wait_for(lambda: reported(url, group, "gated") == 89_999 and state(url, group, "gated") == "active")
        assert gated.query is not None
        began = time.monotonic()
        gated.query.stop()
        # a moment; the rest is for a machine that does other things
        assert time.monotonic() - began < 5
        assert gated.query.exception() is None
        wait_for(lambda: state(url, group, "gated") == "finished")
    assert not list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))
    peer.exchange(at(MINUTE // 2))
    assert gated.start(tmp_path / "checkpoint").finish().handed == [[90_000]]


def test_stopping_a_query_while_its_batch_is_looked_at_is_no_error_either(
    spark: SparkSession, url: str, group: str, peer: Membership, tmp_path: Path
) -> None:
    slowly = "IF(reflect('java.lang.Thread', 'sleep', 60000L) IS NULL, ts, ts)"
    held = gate(lambda *_: None, slowly, Alignment(coordinator=Coordinator(url, group=group)))
    stream = spark.readStream.schema("ts TIMESTAMP").json(str(write_batches(tmp_path / "files", [[30_000]])))
    query = stream.writeStream.foreachBatch(held).option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    wait_for(lambda: spark.sparkContext.statusTracker().getActiveJobsIds())
    query.stop()
    assert query.exception() is None


def test_row_without_credible_event_time_delays_no_query(
    spark: SparkSession, url: str, group: str, peer: Membership, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    batches = [[None, None], [IN_2099], [IN_2099, 30_000, None]]
    gated = Gated(spark, write_batches(tmp_path / "files", batches), url, group, max_wait="1 hour").start(
        tmp_path / "checkpoint", available_now=False
    )
    gated.has(3)
    wait_for(lambda: reported(url, group, "gated") == 29_999)
    assert gated.query is not None
    gated.query.stop()
    assert [len(batch) for batch in gated.handed] == [2, 1, 3]
    assert sum("between past_bound and future_bound" in line for line in caplog.messages) == 1
    assert sum("max_wait='1 hour') has no effect" in line for line in caplog.messages) == 1


def test_the_source_is_read_once_and_a_failed_query_keeps_its_lease(
    spark: SparkSession, url: str, group: str, peer: Membership, tmp_path: Path
) -> None:
    files = write_batches(tmp_path / "files", [[30_000]])
    found: list[int] = []

    def work(batch: DataFrame, _: int) -> None:
        (files / "0.json").unlink()
        found.append(batch.count())
        raise RuntimeError("on purpose")

    stream = spark.readStream.schema("ts TIMESTAMP").json(str(files))
    held = gate(work, "unix_millis(ts)", Alignment(coordinator=Coordinator(url, group=group, source="gated")))
    query = stream.writeStream.foreachBatch(held).option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    with pytest.raises(Exception, match="on purpose"):
        query.awaitTermination(120)
    assert found == [1]
    reader = inspect(url, group, "gated")["readers"][0]
    assert (reader["state"], reader["watermark"]) == ("active", 29_999)


def test_an_event_time_of_another_type_stops_the_query_and_is_named(
    spark: SparkSession, url: str, group: str, peer: Membership, tmp_path: Path
) -> None:
    stream = spark.readStream.format("rate").load()
    held = gate(lambda *_: None, "CAST(timestamp AS DATE)", Alignment(coordinator=Coordinator(url, group=group)))
    query = stream.writeStream.foreachBatch(held).option("checkpointLocation", str(tmp_path)).start()
    with pytest.raises(Exception, match=r"type date.*a TIMESTAMP, or a BIGINT"):
        query.awaitTermination(120)


def test_in_mode_observe_a_gate_tells_what_it_would_hold_and_holds_nothing(
    spark: SparkSession, url: str, group: str, peer: Membership, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "lockgate")
    files = write_batches(tmp_path / "files", [[30_000], [90_000], [95_000]])
    gated = Gated(spark, files, url, group, mode="observe").start(tmp_path / "checkpoint").finish()
    assert len(gated.handed) == 3
    assert [line for line in caplog.messages if "would wait" in line] == [
        "mode observe: the batch that begins at 1970-01-01T00:01:30.000Z would wait at 1970-01-01T00:01:00.000Z;"
        " blocked by peer/0 at 1970-01-01T00:00:00.000Z (1 of 2 batches so far)"
    ]
    assert reported(url, group, "gated") == -1


def test_switched_off_by_the_conf_the_function_is_given_back(spark: SparkSession) -> None:
    def work(batch: DataFrame, batch_id: int) -> None: ...

    spark.conf.set("spark.lockgate.enabled", "false")
    try:
        assert gate(work) is work
    finally:
        spark.conf.unset("spark.lockgate.enabled")


@pytest.mark.parametrize(
    ("event_time", "alignment", "text"),
    [
        ("ts", Alignment(), r"no Coordinator; expected.*spark\.lockgate\.coordinator\.url"),
        (None, Alignment(coordinator=Coordinator(NEVER, group="g")), r"gate\(event_time\): not set"),
        ("ts", Alignment(event_time="other", coordinator=Coordinator(NEVER, group="g")), "set one of them"),
        (
            "ts",
            Alignment(slice="1 hour", coordinator=Coordinator(NEVER, group="g")),
            "batches wait; leave slice out",
        ),
        ("ts", Alignment(late_rows="count", coordinator=Coordinator(NEVER, group="g")), "leave late_rows out"),
    ],
)
def test_an_option_that_a_gate_cannot_follow_is_refused_when_it_is_made(
    spark: SparkSession, event_time: str | None, alignment: Alignment, text: str
) -> None:
    with pytest.raises(ConfigurationError, match=text):
        gate(lambda *_: None, event_time, alignment)


@pytest.mark.parametrize(
    ("fn", "alignment", "text"),
    [
        (None, None, r"gate\(fn=None\): expected a function of"),
        (
            print,
            "1 hour",
            r"gate takes an Alignment, not '1 hour': write gate\(fn, event_time, Alignment\(max_drift='1 h",
        ),
    ],
)
def test_an_argument_that_a_gate_cannot_take_is_named(fn: Any, alignment: Any, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        gate(fn, "ts", alignment)


def test_another_drift_than_the_group_s_is_refused_when_it_is_made(spark: SparkSession, url: str, group: str) -> None:
    with pytest.raises(ConfigurationError, match="10 minutes"):
        gate(lambda *_: None, "ts", Alignment(max_drift="10 minutes", coordinator=Coordinator(url, group=group)))
