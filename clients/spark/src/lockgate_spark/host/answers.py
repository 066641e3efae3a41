"""Answers the calls of the Java class `Host`: Spark aligns streams and plans the batches of each
run, and Connect clients ask questions, such as for a query's status. A stream's table in the JVM
stores what its plan needs, so a new host can continue where another one has ended.
"""

import json
from collections.abc import Mapping
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import ensure_callback_server_started, launch_gateway
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from lockgate import __version__
from lockgate.wire.codec import to_json
from lockgate_spark.conf import asked
from lockgate_spark.connect import ANSWER
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.event_time import EventTime, event_times
from lockgate_spark.jvm.failures import Selected
from lockgate_spark.jvm.opening import check_before, check_session
from lockgate_spark.jvm.query import NO_RUN, QueryRun
from lockgate_spark.jvm.relation import Decorate, check_streaming, rewritten
from lockgate_spark.jvm.stand_in import JavaCallback
from lockgate_spark.jvm.stream import Stream, open_stream
from lockgate_spark.late_rows import path_of
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.running import running
from lockgate_spark.spark_run import SparkRun
from lockgate_spark.status import AlignmentStatus, QueryState, status


class HostAnswers(JavaCallback):
    """Serves all sessions of the driver, whose address and secret are in environment variables."""

    def __init__(self) -> None:
        super().__init__()
        self._gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
        # PySpark sets a secret for Python's calls of Java alone. Here Java's calls need it as well.
        self._gateway.callback_server_parameters.auth_token = self._gateway.gateway_parameters.auth_token
        ensure_callback_server_started(self._gateway)  # type: ignore[no-untyped-call]
        self.java = self._gateway.entry_point
        java = self.java.context()
        conf = SparkConf(_jvm=self._gateway.jvm, _jconf=java.getConf())
        self._context = SparkContext(gateway=self._gateway, jsc=java, conf=conf)
        # PySpark makes the first session that it sees the default of the whole JVM.
        default = self._gateway.jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession()
        if default.isDefined():
            SparkSession(self._context, default.get())

    def lives(self) -> None:
        """Show that this process is alive, at once and even during a long plan."""

    def align(self, relation: Any, options: Any, conf: Any, session: Any) -> Any:
        """Return `relation`, the plan of a stream, with aligned Kafka sources; None if the stream's
        `options` and the session's `conf` do not ask for alignment.
        """
        decorate = self._decorating(options, conf, session)
        return None if decorate is None else rewritten(relation, self._gateway, decorate, self._bare)

    def table(self, table: Any, options: Any, conf: Any, session: Any) -> Any:
        """Return an aligned table in place of Spark's Kafka table; None in the cases of `align`."""
        decorate = self._decorating(options, conf, session)
        return None if decorate is None else decorate(table, options)

    def hint(self, question: str, given: str, plan: Any, conf: Any, session: Any) -> Any:
        """Return the plan that replaces `plan`, the plan of a DataFrame with a hint. For the
        `question` "align", the new plan reads aligned sources. For "times", it reads the event
        times of the rows, and for any other question, the answer as JSON. `given` is JSON with the
        arguments of the question.
        """
        spark, arguments = SparkSession(self._context, session), json.loads(given)
        if question == "align":
            check_streaming(plan.isStreaming())
            options = self._gateway.jvm.java.util.TreeMap()  # a Java map outlives this process
            for key, value in arguments.items():
                options.put(key, value)
            aligned = self.align(plan, options, conf, session)
            return plan if aligned is None else aligned
        if question == "times":
            batch = DataFrame(session.emptyDataFrame().ofRows(session, plan), spark)
            return event_times(batch, arguments["event_time"])._jdf.queryExecution().analyzed()
        answer = answer_to(question, arguments, spark, plan)
        encoders = self._gateway.jvm.org.apache.spark.sql.Encoders
        rows = session.createDataset([json.dumps({ANSWER: answer})], encoders.STRING())
        return rows.queryExecution().analyzed()

    def _decorating(self, options: Any, conf: Any, session: Any) -> Decorate | None:
        """Return the function that makes aligned tables; None if no alignment is asked for."""
        alignment = asked(dict(options), dict(conf))
        if alignment is None:
            return None
        spark = SparkSession(self._context, session)
        check_session(spark)
        check_before(spark, alignment)

        def decorate(table: Any, _: Any) -> Any:
            EventTime.over(spark, table, alignment.event_time)  # checks it
            return self.java.table(table, options, conf, session).proxy()

        return decorate

    def _bare(self, table: Any) -> Any:
        """Return Spark's own table if `table` was aligned only through the session's conf, so that
        it can be aligned again with options set in code. Otherwise return `table`.
        """
        made = self.java.tableOf(table)
        return table if made is None or not made.options().isEmpty() else made.spark()

    def open(
        self, stand_in: Any, java: Any, checkpoint: str, table: Any, options: Any, ends_fixed_at: int | None, kept: Any
    ) -> Stream:
        """Open the stream of one source in a run, and return it. Spark calls `stand_in` in place of
        its own stream `java`. `table` is the source's aligned table, and `options` are those of
        Spark's source. `ends_fixed_at` is the time (ms) at which `availableNow` fixed the source's
        ends, if another host did this. `kept` is a Java map, which outlives this process.
        """
        alignment = asked(dict(table.options()), dict(table.conf()))
        assert alignment is not None  # else the jar would have no such table
        spark = SparkSession(self._context, table.session())
        event_time = EventTime.over(spark, table.spark(), alignment.event_time)
        stream = open_stream(spark, alignment, checkpoint, java, Selected.by(options), event_time, stand_in, kept)
        stream.fixed_at = ends_fixed_at
        return stream


def answer_to(question: str, given: Mapping[str, Any], spark: Any, plan: Any) -> Any:
    """Return the answer to a Connect client's `question`, as a value for JSON. `given` contains the
    question's arguments, and `plan` is the plan of the DataFrame with the hint.
    """
    if question == "hello":
        return __version__
    if question == "status":
        query = spark._jsparkSession.streams().get(given["query_id"])  # only the session's own queries
        ended = AlignmentStatus(given["query_id"], QueryState.ENDED, "The query has ended.")
        return to_json(ended if query is None else status(StreamingQuery(query)))
    if question == "late_rows":
        return path_of(given["query_id"])
    if question not in ("query", "view", "slice"):
        raise UnsupportedQuery(f"the server's lockgate {__version__} has no answer to {question!r}: use the client's")
    run = QueryRun.of_plan(spark, plan)
    if question == "query":
        if run is None:
            raise UnsupportedQuery(NO_RUN)
        return {name: getattr(run, name) for name in SparkRun.__annotations__}
    aligned = None if run is None else running.of_query(AlignedRun, run.query_id)
    found = None if aligned is None else getattr(aligned, question)
    return None if found is None else to_json(found)
