"""The metrics as Prometheus reads them: families made anew for each scrape, from plain numbers.
Nothing is registered anywhere.

Names, units and help follow Prometheus's guide: base units, `_total` for what only adds up,
`_timestamp_seconds` for moments. A value that is no number is left out: a group without a watermark
(MIN, MAX) has no such series, rather than one at the end of time.
"""

from asyncio import Lock
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from platform import python_version

from prometheus_client import ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder

from lockgate_coordinator.store.base import Store
from lockgate_coordinator.telemetry.changes import Kind
from lockgate_coordinator.telemetry.figures import Found
from lockgate_coordinator.telemetry.group_metrics import families_of
from lockgate_coordinator.telemetry.histogram import Histogram
from lockgate_coordinator.telemetry.journal import Journal
from lockgate_coordinator.telemetry.observed import STEPS, ObservedStore
from lockgate_coordinator.telemetry.requests import RequestFigures
from lockgate_coordinator.telemetry.totals import Totals


class Metrics:
    """All that one application counts. `store` is the given one, watched: the application is to use
    it in its place.

    `scraping` is for one scrape at a time.
    """

    def __init__(self, store: Store) -> None:
        self.totals = Totals()
        self.journal = Journal(self.totals)
        self.store = ObservedStore(store, self.journal)
        self.requests = RequestFigures()
        self.process = ProcessCollector(registry=None)
        self.scraping = Lock()

    def exposition(self, accept: str, found: Found) -> tuple[bytes, str]:
        """The text and its content type, by the request's `Accept`. Not quick: for a thread of its
        own.
        """
        encode, content_type = choose_encoder(accept)
        return encode(_Scrape(self, found)), content_type


class _Scrape:
    """What prometheus_client calls a registry: something to collect from."""

    def __init__(self, metrics: Metrics, found: Found) -> None:
        self._metrics = metrics
        self._found = found

    def collect(self) -> Iterator[Metric]:
        """All families, one after the other."""
        yield from self._metrics.process.collect()
        yield from _build()
        yield from _requests(self._metrics.requests)
        yield from _store(self._metrics.store, answered=self._found.answered)
        yield from _rules(self._metrics.journal, self._found.turns, self._found.commands)
        yield from families_of(self._found, self._metrics.totals)


def _build() -> Iterator[Metric]:
    family = GaugeMetricFamily(
        "lockgate_build_info", "Always 1; the versions are in the labels", labels=["version", "python"]
    )
    family.add_metric([version("lockgate-coordinator"), python_version()], 1)
    yield family


def _requests(figures: RequestFigures) -> Iterator[Metric]:
    yield _counter("lockgate_reports", "Reports that were accepted, by the way they came", "kind", figures.reports)
    yield _counter(
        "lockgate_rejections",
        "Requests and reports of a batch that were refused, by type of problem",
        "type",
        figures.rejections,
    )
    yield _histogram(
        "lockgate_report_duration_seconds", "Time from a request with reports to its answer", "kind", figures.durations
    )
    yield _gauge("lockgate_subscribers", "Requests that wait for a change now, by their way", "kind", figures.waiting)


def _store(store: ObservedStore, *, answered: bool) -> Iterator[Metric]:
    text = "Time that the store took for a step that it answered"
    yield _histogram("lockgate_store_operation_duration_seconds", text, "operation", store.durations)
    errors = {step: store.errors[step] for step in STEPS}
    yield _counter("lockgate_store_errors", "Steps that the store did not answer, or refused", "operation", errors)
    text = "Commits refused since another replica's came first; each was tried again"
    yield CounterMetricFamily("lockgate_store_conflicts", text, value=store.conflicts)
    yield GaugeMetricFamily("lockgate_store_up", "Whether the store answered during this scrape", value=int(answered))


def _rules(journal: Journal, turns: int, commands: int) -> Iterator[Metric]:
    yield CounterMetricFamily(
        "lockgate_turns", "Turns of groups: one evaluation and at most one commit each", value=turns
    )
    text = "Commands of readers and operators, looks among them, that turns were taken for"
    yield CounterMetricFamily("lockgate_commands", text, value=commands)
    counts = {
        kind.value: journal.counts[kind] for kind in Kind
    }  # 0 too: what begins with 1 has risen for nobody who asks
    yield _counter("lockgate_state_changes", "Changes of state that this process made, by kind", "kind", counts)


def _counter(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = CounterMetricFamily(name, text, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([key], value)
    return family


def _gauge(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _histogram(name: str, text: str, label: str, values: Mapping[str, Histogram]) -> Metric:
    family = HistogramMetricFamily(name, text, labels=[label])
    for key, histogram in values.items():
        family.add_metric([key], histogram.buckets(), histogram.total_s)
    return family
