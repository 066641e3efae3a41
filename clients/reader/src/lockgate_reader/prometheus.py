"""Exports consumer metrics to Prometheus. Requires the extra `prometheus`."""

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from lockgate_reader.consumer import AlignedConsumer

_SAID = {
    "records_total": "records returned",
    "fetched_total": "records fetched from Kafka",
    "left_out_total": "records left out of the alignment because of their event time",
    "kept_records": "records fetched but not returned yet",
    "partitions": "partitions that the consumer owns",
    "paused_partitions": "partitions whose next record is above the read limit",
    "idle_partitions": "partitions that are idle",
    "waiting": "1 if every partition waits, otherwise 0",
    "watermark_ms": "watermark of the records returned, ms since 1970",
    "read_limit_ms": "event time (ms since 1970) above which no record is returned",
}


class ReaderCollector(Collector):
    """Collector for the metrics of `consumers`, whose keys become the label `consumer`. Use it as
    `REGISTRY.register(ReaderCollector({"enricher": consumer}))`.
    """

    def __init__(self, consumers: Mapping[str, AlignedConsumer]) -> None:
        self._consumers = consumers

    def describe(self) -> list[CounterMetricFamily | GaugeMetricFamily]:
        """Return no metrics, so that registering the collector does not query the consumers."""
        return []

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Yield the metric families `lockgate_reader_…`, each with a sample for each consumer."""
        found = {name: consumer.metrics() for name, consumer in self._consumers.items()}
        for metric, said in _SAID.items():
            kind = CounterMetricFamily if metric.endswith("_total") else GaugeMetricFamily
            family = kind(f"lockgate_reader_{metric}", said, labels=["consumer"])
            for name, numbers in found.items():
                if metric in numbers:
                    family.add_metric([name], numbers[metric])
            yield family
