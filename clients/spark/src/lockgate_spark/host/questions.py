"""What the host answers a client of Connect that asks by a hint."""

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from lockgate import __version__
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.query import QueryRun
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.running import running
from lockgate_spark.status import AlignmentStatus, QueryState, status
from lockgate_spark.telemetry.json_views import to_json

Given = Mapping[str, Any]


def answer_to(question: str, given: Given, spark: Any, plan: Any) -> Any:
    """Return the answer as JSON. `plan` is that of the DataFrame with the hint.

    Raises `UnsupportedQuery` for a question of another version.
    """
    if question not in _ANSWERS:
        raise UnsupportedQuery(
            f"the server's lockgate is {__version__}, and has no answer to {question!r}: use the same "
            "version in the client and on the server"
        )
    return _ANSWERS[question](given, spark, plan)


def _hello(given: Given, spark: Any, plan: Any) -> Any:
    return __version__


def _view(given: Given, spark: Any, plan: Any) -> Any:
    run = _run_of(spark, plan)
    return None if run is None else to_json(run.view)


def _slice(given: Given, spark: Any, plan: Any) -> Any:
    run = _run_of(spark, plan)
    return None if run is None else to_json(run.slice)


def _query(given: Given, spark: Any, plan: Any) -> Any:
    """Return what a gate needs of the run whose batch it gets."""
    run = QueryRun.of_plan(spark, plan)
    if run is None:
        raise UnsupportedQuery("this batch is of no streaming query that runs; a gate goes to writeStream.foreachBatch")
    aligned = running.of_query(AlignedRun, run.query_id)
    return {
        "query_id": run.query_id,
        "run_id": run.run_id,
        "name": run.name,
        "available_now": run.available_now,
        "interval_s": run.interval_s,
        "in_group": aligned is not None and aligned.membership is not None,
    }


def _status(given: Given, spark: Any, plan: Any) -> Any:
    # A session sees its own queries alone.
    query = spark._jsparkSession.streams().get(given["query_id"])
    if query is None:
        return to_json(AlignmentStatus(given["query_id"], QueryState.ENDED, "The query has ended."))
    return to_json(status(StreamingQuery(query)))


def _run_of(spark: Any, plan: Any) -> AlignedRun | None:
    run = QueryRun.of_plan(spark, plan)
    return None if run is None else running.of_query(AlignedRun, run.query_id)


_ANSWERS: dict[str, Callable[[Given, Any, Any], Any]] = {
    "hello": _hello,
    "view": _view,
    "slice": _slice,
    "query": _query,
    "status": _status,
}
