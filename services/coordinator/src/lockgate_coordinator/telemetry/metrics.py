"""The metrics as Prometheus reads them. Each scrape builds all families from plain numbers; nothing
is registered.

Names, units and help follow Prometheus's guide: base units, `_total` for counters,
`_timestamp_seconds` for moments. A value that is not a number is left out, so a group without a
watermark (MIN, MAX) has no such series, rather than one far in the future.
"""

from asyncio import Lock
from collections.abc import Iterator, Mapping
from functools import partial
from platform import python_version
from types import SimpleNamespace

from prometheus_client import ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder

from lockgate import __version__
from lockgate_coordinator.store.base import Store
from lockgate_coordinator.telemetry.changes import Kind
from lockgate_coordinator.telemetry.figures import Scrape
from lockgate_coordinator.telemetry.group_metrics import families_of
from lockgate_coordinator.telemetry.histogram import Histogram
from lockgate_coordinator.telemetry.journal import Journal
from lockgate_coordinator.telemetry.kept_changes import KeptChanges
from lockgate_coordinator.telemetry.observed import STEPS, StoreFigures
from lockgate_coordinator.telemetry.requests import RequestFigures
from lockgate_coordinator.telemetry.totals import Totals


class Metrics:
    """All figures of one application. `store` is the given one with measurements, which the
    application must use instead. `scraping` lets one scrape run at a time.
    """

    def __init__(self, store: Store) -> None:
        self.totals = Totals()
        self.journal = Journal(self.totals, KeptChanges(store))
        self.steps = StoreFigures()
        self.store = self.steps.measured(store)
        self.requests = RequestFigures()
        self.process = ProcessCollector(registry=None)
        self.scraping = Lock()

    def exposition(self, accept: str, scrape: Scrape) -> tuple[bytes, str]:
        """Return the text and its content type, which the request's `Accept` chooses. It is slow,
        so call it on a thread of its own.
        """
        encode, content_type = choose_encoder(accept)
        return encode(SimpleNamespace(collect=partial(self._families, scrape))), content_type

    def _families(self, scrape: Scrape) -> Iterator[Metric]:
        yield from self.process.collect()
        yield from _build()
        yield from _requests(self.requests)
        yield from _store(self.steps, answered=scrape.complete)
        yield from _rules(self.journal, scrape.commits, scrape.commands)
        yield from families_of(scrape, self.totals)


def _build() -> Iterator[Metric]:
    family = GaugeMetricFamily(
        "lockgate_build_info", "Always 1; the labels have the versions", labels=["version", "python"]
    )
    family.add_metric([__version__, python_version()], 1)
    yield family


def _requests(figures: RequestFigures) -> Iterator[Metric]:
    yield _counter("lockgate_reports", "Accepted reports, by kind of request", "kind", figures.reports)
    yield _counter(
        "lockgate_rejections",
        "Rejected requests by problem type, including reports inside batches",
        "type",
        figures.rejections,
    )
    yield _histogram(
        "lockgate_report_duration_seconds", "Time to answer a request with reports", "kind", figures.durations
    )
    waiting = GaugeMetricFamily(
        "lockgate_subscribers", "Open requests that wait for a change, by kind", labels=["kind"]
    )
    for kind, number in figures.waiting.items():
        waiting.add_metric([kind], number)
    yield waiting


def _store(store: StoreFigures, *, answered: bool) -> Iterator[Metric]:
    text = "Time of successful store operations"
    yield _histogram("lockgate_store_operation_duration_seconds", text, "operation", store.durations)
    errors = {step: store.errors[step] for step in STEPS}
    yield _counter("lockgate_store_errors", "Store operations that failed or were not answered", "operation", errors)
    text = "Commits that were retried because another coordinator's came first"
    yield CounterMetricFamily("lockgate_store_conflicts", text, value=store.conflicts)
    yield GaugeMetricFamily(
        "lockgate_store_up", "1 if the store answered during this scrape, else 0", value=int(answered)
    )


def _rules(journal: Journal, commits: int, commands: int) -> Iterator[Metric]:
    yield CounterMetricFamily("lockgate_turns", "Evaluations of groups, each with at most one write", value=commits)
    text = "Commands of readers and operators in these evaluations, including reads"
    yield CounterMetricFamily("lockgate_commands", text, value=commands)
    # Zeros too: Prometheus sees no increase in a series that begins with 1.
    counts = {kind.value: journal.counts[kind] for kind in Kind}
    yield _counter("lockgate_state_changes", "Changes of state committed by this process, by kind", "kind", counts)


def _counter(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = CounterMetricFamily(name, text, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([key], value)
    return family


def _histogram(name: str, text: str, label: str, values: Mapping[str, Histogram]) -> Metric:
    family = HistogramMetricFamily(name, text, labels=[label])
    for key, histogram in values.items():
        family.add_metric([key], histogram.buckets(), histogram.total_s)
    return family
