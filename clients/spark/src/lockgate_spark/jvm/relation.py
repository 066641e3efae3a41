"""Finds the Kafka sources in a streaming DataFrame's plan, and replaces each by an aligned
table.
"""

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame

from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.names import class_name

Decorate = Callable[[Any, Any], Any]
"""Makes an aligned table, with its `java_proxy`, out of Spark's and the stream's options."""

Bare = Callable[[Any], Any]

Over = Callable[[Any, Any], Any]
"""Takes the aligned table and the plan that reads it. Returns the plan to use in its place."""


def with_tables(df: DataFrame, gateway: Any, decorate: Decorate, over: Over) -> DataFrame:
    """`df` with every Kafka source's table decorated. Raises `UnsupportedQuery` for any other
    source, or where there is none.
    """
    plan = rewritten(df._jdf.queryExecution().analyzed(), gateway, decorate, over)
    # Spark has analysed all of it but the leaves. To analyse it anew would take a deeper stack.
    plan.setAnalyzed()
    return DataFrame(df._jdf.ofRows(df.sparkSession._jsparkSession, plan), df.sparkSession)


def rewritten(plan: Any, gateway: Any, decorate: Decorate, over: Over, bare: Bare = lambda table: table) -> Any:
    """Return a logical plan in which the table of every Kafka source is decorated.

    `bare` gives Spark's own table for one that may be decorated again. Raises `UnsupportedQuery` as
    above.
    """
    return _Rewriter(gateway, decorate, over, bare).rewrite(plan)


class _Rewriter:
    def __init__(self, gateway: Any, decorate: Decorate, over: Over, bare: Bare) -> None:
        self._gateway, self._decorate, self._over, self._bare = gateway, decorate, over, bare
        # a source that is used twice stays one source
        self._done = gateway.jvm.java.util.LinkedHashMap()

    def rewrite(self, plan: Any) -> Any:
        """Replace the sources. The plan may be hundreds of nodes deep, so Spark walks it, not
        Python: once to find the leaves, and once to replace them.
        """
        leaves = plan.collectLeaves().iterator()
        while leaves.hasNext():
            self._take(leaves.next())
        # A Scala map is a partial function, such as Spark's own rules are.
        return plan.transformUp(self._gateway.jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(self._done))

    def _take(self, leaf: Any) -> None:
        if class_name(leaf) == "StreamingRelationV2":
            _check(leaf, self._bare(leaf.table()), self._gateway.jvm)
            if not self._done.containsKey(leaf):
                self._done.put(leaf, self._aligned(leaf))
        # a CTERelationRef refers to a part of the same plan, whose leaves are walked there
        elif class_name(leaf) != "CTERelationRef" and leaf.isStreaming():
            raise UnsupportedQuery(_not_kafka(leaf))

    def _aligned(self, relation: Any) -> Any:
        table = self._decorate(self._bare(relation.table()), relation.extraOptions().asCaseSensitiveMap())
        identity = self._gateway.jvm.java.lang.System.identityHashCode
        # Without the V1 relation Spark cannot fall back to a source that cannot be aligned.
        replaced = {
            identity(relation.table()): table.java_proxy,
            identity(relation.v1Relation()): self._gateway.jvm.scala.Option.empty(),
        }
        values = self._gateway.jvm.java.util.ArrayList()  # a Java array would refuse a proxy
        for value in map(relation.productElement, range(relation.productArity())):
            values.add(replaced.get(identity(value), value))
        return self._over(table, relation.makeCopy(values.toArray()))


def _check(relation: Any, table: Any, jvm: Any) -> None:
    if jvm.java.lang.reflect.Proxy.isProxyClass(table.getClass()):
        raise UnsupportedQuery(
            "this source is aligned already: align every stream once, before or after it is joined with others"
        )
    if class_name(table) != "KafkaTable":
        raise UnsupportedQuery(_not_kafka(relation))


def _not_kafka(leaf: Any) -> str:
    kind = class_name(leaf)
    if kind in ("StreamingRelationV2", "StreamingRelation"):
        name = leaf.sourceName()
        hint = "lockgate_spark.gate(fn, event_time=…, alignment=…) pauses a query on any source, in its foreachBatch"
        return f'the source is "{name}", and align() needs format("kafka"); {hint}'
    return (
        f"no source can be found behind {kind}: hand over the DataFrame that readStream gave, or one made from "
        "it by transformations"
    )
