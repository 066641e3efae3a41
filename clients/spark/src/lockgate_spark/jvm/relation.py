"""Finds the Kafka sources in a streaming DataFrame's plan and puts an aligned table in their place."""

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame

from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.names import class_name

Decorate = Callable[[Any], Any]
"""Makes an aligned table (a proxy) out of Spark's."""

Over = Callable[[Any, Any], Any]
"""Given the aligned table and the plan that reads it: that plan with what is to stand over it."""


def with_tables(df: DataFrame, gateway: Any, decorate: Decorate, over: Over) -> DataFrame:
    """`df` with every Kafka source's table decorated. Raises `UnsupportedQuery` for any other source, or where there is none."""
    plan = _Rewriter(gateway, decorate, over).rewrite(df._jdf.queryExecution().analyzed())
    dataset = gateway.jvm.org.apache.spark.sql.classic.Dataset.ofRows(df.sparkSession._jsparkSession, plan)
    return DataFrame(dataset, df.sparkSession)


class _Rewriter:
    def __init__(self, gateway: Any, decorate: Decorate, over: Over) -> None:
        self._gateway, self._decorate, self._over = gateway, decorate, over
        self._done: list[tuple[Any, Any]] = []  # a source that is used twice stays one source

    def rewrite(self, node: Any) -> Any:
        if class_name(node) == "StreamingRelationV2":
            return self._aligned(node)
        children = [node.children().apply(i) for i in range(node.children().size())]
        if class_name(node) == "CTERelationRef":
            return node  # what it stands for is elsewhere in the same plan
        if not children and node.isStreaming():
            raise UnsupportedQuery(_not_kafka(node))
        made = [self.rewrite(child) if child.isStreaming() else child for child in children]
        return node.withNewChildren(self._gateway.jvm.org.apache.spark.api.python.PythonUtils.toSeq(self._list(made)))

    def _aligned(self, relation: Any) -> Any:
        if self._gateway.jvm.java.lang.reflect.Proxy.isProxyClass(relation.table().getClass()):
            raise UnsupportedQuery("this source is aligned already: align every stream once, before or after it is joined with others")
        if class_name(relation.table()) != "KafkaTable":
            raise UnsupportedQuery(_not_kafka(relation))
        for known, copy in self._done:
            if known.equals(relation):
                return copy
        fields = {relation.productElementName(i): relation.productElement(i) for i in range(relation.productArity())}
        fields["table"] = table = self._decorate(relation.table())
        # Without it Spark cannot fall back to Kafka's V1 source, which nobody could align.
        fields["v1Relation"] = self._gateway.jvm.scala.Option.empty()
        copy = self._over(table, relation.makeCopy(self._list(list(fields.values())).toArray()))
        self._done.append((relation, copy))
        return copy

    def _list(self, items: list[Any]) -> Any:
        java = self._gateway.jvm.java.util.ArrayList()  # a Java array would refuse a proxy
        for item in items:
            java.add(item)
        return java


def _not_kafka(leaf: Any) -> str:
    kind = class_name(leaf)
    if kind in ("StreamingRelationV2", "StreamingRelation"):
        name = leaf.sourceName()
        hint = "lockgate_spark.gate(fn, event_time=…, alignment=…) pauses a query on any source, in its foreachBatch"
        return f'the source is "{name}", and align() needs format("kafka"); {hint}'
    return f"no source can be found behind {kind}: hand over the DataFrame that readStream gave, or one made from it by transformations"
