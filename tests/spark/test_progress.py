"""The task that tells of a batch's splits: it fails for nothing, and says why it was not heard."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lockgate_spark import Alignment, Coordinator
from lockgate_spark.errors import Stopped
from lockgate_spark.jvm.progress_reports import _sender, _sent
from lockgate_spark.planning.aligned_run import AlignedRun
from support.answers import Answer, accepting_only, serving

READERS = {"t-0": (0, 7), "t-1": (0, 7), "other-0": (1, 8)}


def row(topic: str, partition: int, event_time: int | None = 1_000) -> dict[str, Any]:
    return {"topic": topic, "partition": partition, "end": 5, "rows": 5, "event_time": event_time}


def sent(url: str, rows: list[dict[str, Any]], timeout: str = "1 minute", **more: Any) -> list[str]:
    coordinator = Coordinator(url, group="g", timeout=timeout, **more)
    return list(_sender(coordinator, "orders", READERS, batch_id=3, disorder=10)(rows))


@pytest.mark.parametrize(
    "answer", [Answer(503), Answer(401), Answer(409), Answer(422), Answer(404, b"garbage")], ids=lambda a: a.status
)
def test_a_report_that_is_refused_is_told_of_and_fails_no_task(answer: Answer) -> None:
    with serving(answer) as url:
        # it is asked again and again until then
        timeout = "2 seconds" if answer.status == 503 else "1 minute"
        assert [str(answer.status) in why for why in sent(url, [row("t", 0)], timeout)] == [True]


def test_a_coordinator_that_is_away_or_says_nothing_fails_no_task() -> None:
    with accepting_only() as url:
        assert len(sent(url, [row("t", 0)], "200 milliseconds")) == 1
    assert len(sent(url, [row("t", 0)], "200 milliseconds")) == 1


def test_a_ca_that_is_not_on_the_executor_fails_no_task() -> None:
    assert ["ca='/nowhere.pem'" in why for why in sent("https://127.0.0.1:1", [row("t", 0)], ca="/nowhere.pem")] == [
        True
    ]


def test_refused_request_of_one_reader_stops_no_other() -> None:
    with serving(refused := Answer(409)) as url:
        assert len(sent(url, [row("t", 0), row("other", 0), row("t", 1)])) == 2
    assert len(refused.asked) == 2


def test_a_task_without_splits_to_report_sends_no_request() -> None:
    with serving(answer := Answer()) as url:
        assert sent(url, [row("t", 0, None), row("unknown", 0)]) == []
    assert answer.asked == []


@dataclass
class Run:
    active: bool

    def is_active(self) -> bool:
        return self.active


def run_session(active: bool) -> Any:
    return AlignedRun(Alignment(), Run(active))  # type: ignore[arg-type]


def test_failed_report_job_fails_no_batch_unless_the_query_stops(spark: SparkSession) -> None:
    def breaks(_: Iterable[Any]) -> Iterator[str]:
        raise RuntimeError("no package on this executor")

    def refused(_: Iterable[Any]) -> Iterator[str]:
        return iter(["stale"])

    rows = spark.range(1)
    assert "Spark job" in str(_sent(run_session(active=True), rows, breaks))
    assert _sent(run_session(active=True), rows, refused) == "stale"
    with pytest.raises(Stopped):
        _sent(run_session(active=False), rows, breaks)
