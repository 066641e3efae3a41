"""`align` for a classic session: replaces the Kafka sources in a DataFrame's plan."""

from collections.abc import Callable, Sequence
from typing import Any

from py4j.clientserver import ClientServer
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame

from lockgate_spark.conf import configured, refuse_options
from lockgate_spark.config import Alignment
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.names import class_name, each
from lockgate_spark.jvm.opening import check_before, check_session
from lockgate_spark.jvm.stream import aligned_table
from lockgate_spark.spark_lines import settings_of

Decorate = Callable[[Any, Any], Any]
"""Makes an aligned table from Spark's table and the stream's options."""


def align_all(dfs: Sequence[DataFrame], alignment: Alignment) -> list[DataFrame]:
    for df in dfs:
        check_streaming(df.isStreaming)
        check_session(df.sparkSession)
        if not isinstance(df.sparkSession.sparkContext._gateway, ClientServer):
            raise UnsupportedQuery(
                "PYSPARK_PIN_THREAD=false: Spark's Kafka source answers only on Spark's own thread, and Python "
                "reaches that only with pinned threads. Leave the variable out, or leave align() out"
            )
    spark = dfs[0].sparkSession
    gateway: Any = spark.sparkContext._gateway
    settled = configured(alignment, settings_of(spark))
    check_before(spark, settled)
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]

    def aligned(table: Any, options: Any) -> Any:
        refuse_options(dict(options))
        return aligned_table(spark, table, settled)

    plans = [rewritten(df._jdf.queryExecution().analyzed(), gateway, aligned) for df in dfs]
    for plan in plans:
        plan.setAnalyzed()  # as all but its leaves is; a new analysis would take a deeper stack
    pairs = zip(dfs, plans, strict=True)
    return [DataFrame(df._jdf.ofRows(df.sparkSession._jsparkSession, plan), df.sparkSession) for df, plan in pairs]


def check_streaming(is_streaming: bool) -> None:
    if not is_streaming:
        raise UnsupportedQuery("expected a streaming DataFrame (spark.readStream…load()), not a batch DataFrame")


def rewritten(plan: Any, gateway: Any, decorate: Decorate, bare: Callable[[Any], Any] = lambda table: table) -> Any:
    """Return a logical plan in which each Kafka source's table is replaced by an aligned one.
    `bare` returns Spark's own table for an aligned one that may be aligned again. The plan may be
    hundreds of nodes deep, so the JVM traverses it and not Python.
    """
    jvm = gateway.jvm
    done = jvm.java.util.LinkedHashMap()  # a source that is used twice stays one source
    for leaf in each(plan.collectLeaves()):
        if class_name(leaf) == "StreamingRelationV2":
            table = bare(leaf.table())
            if jvm.java.lang.reflect.Proxy.isProxyClass(table.getClass()):
                raise UnsupportedQuery("this source is aligned already: align every stream once")
            if class_name(table) != "KafkaTable":
                raise UnsupportedQuery(_not_kafka(leaf))
            if not done.containsKey(leaf):
                aligned = decorate(table, leaf.extraOptions().asCaseSensitiveMap())
                done.put(leaf, _reading(leaf, aligned, jvm))
        # a CTERelationRef refers to a part of the same plan, whose leaves are walked there
        elif class_name(leaf) != "CTERelationRef" and leaf.isStreaming():
            raise UnsupportedQuery(_not_kafka(leaf))
    # A Scala map is a partial function, such as Spark's own rules are.
    return plan.transformUp(jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(done))


def _reading(relation: Any, table: Any, jvm: Any) -> Any:
    identity = jvm.java.lang.System.identityHashCode
    # Without the V1 relation Spark cannot fall back to a source that cannot be aligned.
    replaced = {identity(relation.table()): table, identity(relation.v1Relation()): jvm.scala.Option.empty()}
    values = jvm.java.util.ArrayList()  # a Java array would refuse a proxy
    for value in map(relation.productElement, range(relation.productArity())):
        values.add(replaced.get(identity(value), value))
    return relation.makeCopy(values.toArray())


def _not_kafka(leaf: Any) -> str:
    kind = class_name(leaf)
    if kind in ("StreamingRelationV2", "StreamingRelation"):
        name = leaf.sourceName()
        hint = "lockgate_spark.gate(fn, event_time=…, alignment=…) pauses a query on any source, in its foreachBatch"
        return f'the source is "{name}", and align() needs format("kafka"); {hint}'
    return f"no source can be found behind {kind}: hand over what readStream gave, or what was derived from it"
