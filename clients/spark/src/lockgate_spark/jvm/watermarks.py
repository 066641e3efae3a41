"""The query's own `withWatermark`s, read off its plan, and what their columns are made of.

A column is followed down to the source by Catalyst's expression ids, through projections, aliases, unions and joins, so that a renamed
`timestamp` is still Kafka's. What an expression makes of it is something else.
"""

from collections.abc import Iterator
from typing import Any

from lockgate_spark.jvm.names import class_name
from lockgate_spark.planning.watermarks import Origin, QueryWatermark


def query_watermarks(plan: Any, jvm: Any) -> list[QueryWatermark]:
    """All of a running query's logical plan."""
    lineage = _Lineage(jvm)
    return [
        QueryWatermark(str(node.eventTime().name()), lineage.delay(node), tuple(lineage.of(node.eventTime(), node.child())))
        for node in _nodes(plan)
        if class_name(node) == "EventTimeWatermark"
    ]


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in _children(node):
        yield from _nodes(child)


def _children(node: Any) -> list[Any]:
    children = node.children()
    return [children.apply(i) for i in range(children.size())]


def source_index(checkpoint: str) -> int:
    """The index of a source, by the place of its checkpoint: `<checkpoint>/sources/<index>`."""
    return int(checkpoint.rstrip("/").rpartition("/")[2])


class _Lineage:
    def __init__(self, jvm: Any) -> None:
        catalyst = jvm.org.apache.spark.sql.catalyst
        self._positions = getattr(catalyst.expressions, "package$AttributeSeq")
        self._get_delay_ms = catalyst.plans.logical.EventTimeWatermark.getDelayMs
        self._is_proxy = jvm.java.lang.reflect.Proxy.isProxyClass

    def delay(self, node: Any) -> int:
        return int(self._get_delay_ms(node.delay()))

    def of(self, attribute: Any, *nodes: Any) -> list[Origin]:
        """The origins of an attribute in whichever of these nodes gives it."""
        for node in nodes:
            position = self._positions(node.output()).indexOf(attribute.exprId())
            if position >= 0:
                return self._at(node, position)
        return [Origin(False, None, str(attribute.sql()))]

    def _at(self, node: Any, position: int) -> list[Origin]:
        children = _children(node)
        if not children:
            name = str(node.output().apply(position).name())
            aligned = class_name(node).startswith("StreamingDataSourceV2") and self._is_proxy(node.stream().getClass())
            return [Origin(aligned, name, name, source_index(node.relation().metadataPath()) if aligned else None)]
        if class_name(node) == "Union":
            return [origin for child in children for origin in self._at(child, position)]
        expression = node.output().apply(position)
        if class_name(node) in ("Project", "Aggregate"):
            expression = (node.projectList() if class_name(node) == "Project" else node.aggregateExpressions()).apply(position)
        while class_name(expression) == "Alias":
            expression = expression.child()
        if class_name(expression) == "AttributeReference":
            return self.of(expression, *children)
        return self._made(expression, children)

    def _made(self, expression: Any, children: list[Any]) -> list[Origin]:
        """What an expression makes of several columns belongs to the sources of all of them."""
        references = expression.references().toSeq()
        under = [origin for i in range(references.size()) for origin in self.of(references.apply(i), *children)]
        sources = {origin.source for origin in under}
        return [Origin(any(origin.aligned for origin in under), None, str(expression.sql()), sources.pop() if len(sources) == 1 else None)]
