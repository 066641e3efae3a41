"""The host's answers to Spark, by which the host aligns streams and plans the batches of each run.

A stream's table in the JVM stores the options and the conf with which it was aligned, and the
objects that its plan needs. Therefore a new host can continue where another one has ended.
"""

import json
from typing import Any

from pyspark.sql import DataFrame

from lockgate_spark.conf import asked
from lockgate_spark.config import Alignment
from lockgate_spark.connect.asking import ANSWER
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.host.driver import Driver
from lockgate_spark.host.questions import answer_to
from lockgate_spark.jvm.batch import event_times
from lockgate_spark.jvm.failures import Selected
from lockgate_spark.jvm.opening import PlannedSource, check_before, check_session
from lockgate_spark.jvm.relation import rewritten
from lockgate_spark.jvm.stand_in import JavaCallback
from lockgate_spark.jvm.stream import Stream, opened


class HostAnswers(JavaCallback):
    """Answers the calls of the Java class `Host`. One object serves all sessions of the driver."""

    def __init__(self, driver: Driver) -> None:
        super().__init__()
        self._driver, self._java = driver, driver.gateway.entry_point

    def lives(self) -> None:
        """Return at once, which shows that this process is alive. Java's calls are answered on
        threads of their own, so a long plan does not delay this answer.
        """

    def align(self, relation: Any, options: Any, conf: Any, session: Any) -> Any:
        """Return `relation`, the plan of a Kafka source, with an aligned source in its place.
        Return None if the stream's `options` and the session's `conf` do not ask for alignment.
        """
        return self._aligned(relation, options, conf, session)

    def table(self, table: Any, options: Any, conf: Any, session: Any) -> Any:
        """Return an aligned table in place of Spark's Kafka table `table`; None if the stream's
        `options` and the session's `conf` do not ask for alignment. Unlike `align`, this method
        needs no plan.
        """
        alignment = asked(dict(options), dict(conf))
        if alignment is None:
            return None
        spark = self._driver.session(session)
        check_session(spark)
        check_before(spark, alignment)
        PlannedSource.of(spark, table, alignment)  # checks the event time
        return self._java.table(table, options, conf, session).proxy()

    def hint(self, question: str, given: str, plan: Any, conf: Any, session: Any) -> Any:
        """Return the plan that replaces `plan`, which is the plan of a DataFrame with a hint. For
        the `question` "align", the new plan reads aligned sources. For "times", it reads the event
        times of the rows, and for any other question, the answer as JSON. `given` has the arguments
        of the question as JSON.
        """
        if question == "align":
            return self._realigned(plan, json.loads(given), conf, session)
        spark = self._driver.session(session)
        if question == "times":
            batch = DataFrame(session.emptyDataFrame().ofRows(session, plan), spark)
            return event_times(batch, json.loads(given)["event_time"])._jdf.queryExecution().analyzed()
        answer = answer_to(question, json.loads(given), spark, plan)
        encoders = self._driver.gateway.jvm.org.apache.spark.sql.Encoders
        rows = session.createDataset([json.dumps({ANSWER: answer})], encoders.STRING())
        return rows.queryExecution().analyzed()

    def _realigned(self, plan: Any, options: dict[str, str], conf: Any, session: Any) -> Any:
        if not plan.isStreaming():
            raise UnsupportedQuery(
                "expected a streaming DataFrame (spark.readStream…load()); this one is a batch DataFrame"
            )
        kept = self._driver.gateway.jvm.java.util.TreeMap()  # a Java map outlives this process
        for key, value in options.items():
            kept.put(key, value)
        aligned = self._aligned(plan, kept, conf, session)
        return plan if aligned is None else aligned

    def _aligned(self, plan: Any, options: Any, conf: Any, session: Any) -> Any:
        alignment = asked(dict(options), dict(conf))
        if alignment is None:
            return None
        spark = self._driver.session(session)
        check_session(spark)
        check_before(spark, alignment)

        def decorate(table: Any, _: Any) -> Any:
            PlannedSource.of(spark, table, alignment)  # checks the event time
            return self._java.table(table, options, conf, session).proxy()

        return rewritten(plan, self._driver.gateway, decorate, self._bare)

    def _bare(self, table: Any) -> Any:
        """Return Spark's own table if `table` was aligned only because of the session's conf, so
        that options in the code can align it again. Return any other table as it is.
        """
        made = self._java.tableOf(table)
        return table if made is None or not made.options().isEmpty() else made.spark()

    def open(
        self, stand_in: Any, java: Any, checkpoint: str, table: Any, options: Any, ends_fixed_at: int | None, kept: Any
    ) -> Stream:
        """Open the stream of one source in a run, and return it. Spark calls `stand_in` in place of
        its own stream `java`. `table` is the source's aligned table, and `options` are the options
        of Spark's source.

        `ends_fixed_at` is the time (ms) at which `availableNow` fixed the source's ends, if another
        host did this. `kept` is a Java map of the run, which outlives this process.
        """
        alignment = _asked(table)
        assert alignment is not None  # else the jar would have no such table
        spark = self._driver.session(table.session())
        source = PlannedSource.of(spark, table.spark(), alignment)
        run = source.open(checkpoint, kept)
        gateway, selected = self._driver.gateway, Selected.by(options)
        stream = opened(
            run,
            checkpoint,
            lambda run, index: Stream(java, gateway, selected, run, index, source.event_time, stand_in),
        )
        stream.fixed_at = ends_fixed_at
        return stream


def _asked(table: Any) -> Alignment | None:
    return asked(dict(table.options()), dict(table.conf()))
