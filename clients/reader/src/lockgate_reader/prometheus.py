"""The metrics of consumers for Prometheus. Needs the extra `prometheus`.

from lockgate_reader.prometheus import ReaderCollector
REGISTRY.register(ReaderCollector({"enricher": consumer}))
"""

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from lockgate_reader.consumer import AlignedConsumer

_SAID = {
    "records_total": "records that have gone out",
    "fetched_total": "records that Kafka gave",
    "left_out_total": "records whose event time did not take part",
    "kept_records": "records that were fetched and have not gone out",
    "splits": "splits that the consumer holds",
    "paused_splits": "splits whose next record is above the ceiling",
    "idle_splits": "splits that are idle",
    "waiting": "1 where every split waits, else 0",
    "watermark_ms": "watermark of what has gone out, ms since 1970",
    "ceiling_ms": "no record above it goes out, ms since 1970",
}


class ReaderCollector(Collector):
    """`consumers`: by the name that the label `consumer` has."""

    def __init__(self, consumers: Mapping[str, AlignedConsumer]) -> None:
        self._consumers = consumers

    def describe(self) -> list[CounterMetricFamily | GaugeMetricFamily]:
        """Nothing is asked when it is registered."""
        return []

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """`lockgate_reader_…`, one family for each number of `metrics`."""
        found = {name: consumer.metrics() for name, consumer in self._consumers.items()}
        for metric, said in _SAID.items():
            kind = CounterMetricFamily if metric.endswith("_total") else GaugeMetricFamily
            family = kind(f"lockgate_reader_{metric}", said, labels=["consumer"])
            for name, numbers in found.items():
                if metric in numbers:
                    family.add_metric([name], numbers[metric])
            yield family
