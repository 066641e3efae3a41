"""The host's answers to the questions of a Connect client."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from lockgate import __version__
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.query import QueryRun
from lockgate_spark.late_rows import path_of
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.running import running
from lockgate_spark.status import AlignmentStatus, QueryState, status
from lockgate_spark.telemetry.json_views import to_json

_OF_A_RUN = ("query_id", "run_id", "name", "available_now", "interval_s", "in_group")


def answer_to(question: str, given: Mapping[str, Any], spark: Any, plan: Any) -> Any:
    """Return the answer to `question` as a value for JSON. `given` holds the question's arguments.
    A Connect client asks by a hint in a DataFrame, and `plan` is the plan of that DataFrame.

    Raises `UnsupportedQuery` for a question that only another version of lockgate asks, and for the
    question "query" if `plan` reads no batch of a running query.
    """
    if question == "hello":
        return __version__
    if question == "status":
        return to_json(_status(given["query_id"], spark))
    if question == "late_rows":
        return path_of(given["query_id"])
    if question not in ("query", "view", "slice"):
        raise UnsupportedQuery(
            f"the server's lockgate is {__version__}, and has no answer to {question!r}: use the same "
            "version in the client and on the server"
        )
    run = QueryRun.of_plan(spark, plan)
    if question == "query":
        if run is None:
            raise UnsupportedQuery(
                "this batch is of no streaming query that runs; a gate goes to writeStream.foreachBatch"
            )
        return {name: getattr(run, name) for name in _OF_A_RUN}
    aligned = None if run is None else running.of_query(AlignedRun, run.query_id)
    return None if aligned is None else to_json(getattr(aligned, question))


def _status(query_id: str, spark: Any) -> AlignmentStatus:
    query = spark._jsparkSession.streams().get(query_id)  # only the session's own queries
    if query is None:
        return AlignmentStatus(query_id, QueryState.ENDED, "The query has ended.")
    return status(StreamingQuery(query))
