"""The metrics in Prometheus's format.

Each scrape builds them from the coordinator's own figures, without a registry of
`prometheus_client`. Names, units and help follow Prometheus's guide: base units, `_total` for
counters, `_timestamp_seconds` for moments.

If a group has no watermark (MIN, MAX), its watermark series is left out, so that it does not show a
moment far in the future. A deleted group has no series.
"""

from asyncio import Lock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from platform import python_version
from types import SimpleNamespace

from prometheus_client import ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder

from lockgate import __version__
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import SplitState
from lockgate_coordinator.store.base import Store
from lockgate_coordinator.telemetry.changes import Kind
from lockgate_coordinator.telemetry.figures import READER_STATES, Figures, GroupFigures, Scrape
from lockgate_coordinator.telemetry.histogram import Histogram
from lockgate_coordinator.telemetry.journal import Journal
from lockgate_coordinator.telemetry.kept_changes import KeptChanges
from lockgate_coordinator.telemetry.observed import STEPS, StoreFigures
from lockgate_coordinator.telemetry.requests import RequestFigures
from lockgate_coordinator.telemetry.totals import OTHER, SourceTotals, Totals


class Metrics:
    """All metrics of one application.

    The application must use the attribute `store`, a wrapper that measures the given store. A
    scrape must hold the lock `scraping`, so that only one runs at a time.
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
        """Return the metrics as text in a format that the header `accept` allows, and its content
        type. This is slow, so call it on a thread.
        """
        encode, content_type = choose_encoder(accept)
        return encode(SimpleNamespace(collect=partial(self._families, scrape))), content_type

    def _families(self, scrape: Scrape) -> Iterator[Metric]:
        yield from self.process.collect()
        build = ((__version__, python_version()), 1)
        yield _gauge("lockgate_build_info", "Always 1; the labels have the versions", ("version", "python"), [build])
        yield from _requests(self.requests)
        yield from _store(self.steps, answered=scrape.complete)
        yield from _rules(self.journal, scrape)
        yield from _groups(scrape)
        yield from _sources(scrape.groups)
        yield from _assignments(scrape)
        yield from _totals(self.totals, scrape.groups)


Samples = Iterable[tuple[Sequence[str], float | None]]
"""The values of a metric, each with the values of its labels. A value of None gets no series."""


def _family(
    kind: type[GaugeMetricFamily | CounterMetricFamily], name: str, text: str, labels: Sequence[str], samples: Samples
) -> Metric:
    family = kind(name, text, labels=labels)
    for values, number in samples:
        if number is not None:
            family.add_metric(values, number)
    return family


_gauge, _counter = partial(_family, GaugeMetricFamily), partial(_family, CounterMetricFamily)


def _counts(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    return _counter(name, text, [label], (((key,), value) for key, value in sorted(values.items())))


def _histogram(name: str, text: str, label: str, values: Mapping[str, Histogram]) -> Metric:
    family = HistogramMetricFamily(name, text, labels=[label])
    for key, histogram in values.items():
        family.add_metric([key], histogram.buckets(), histogram.total_s)
    return family


def _requests(figures: RequestFigures) -> Iterator[Metric]:
    yield _counts("lockgate_reports", "Accepted reports, by kind of request", "kind", figures.reports)
    text = "Rejected requests by problem type, including reports inside batches"
    yield _counts("lockgate_rejections", text, "type", figures.rejections)
    text = "Time to answer a request with reports"
    yield _histogram("lockgate_report_duration_seconds", text, "kind", figures.durations)
    text = "Open requests that wait for a change, by kind"
    yield _gauge("lockgate_subscribers", text, ["kind"], (((kind,), count) for kind, count in figures.waiting.items()))


def _store(store: StoreFigures, *, answered: bool) -> Iterator[Metric]:
    text = "Time of successful store operations"
    yield _histogram("lockgate_store_operation_duration_seconds", text, "operation", store.durations)
    errors = {step: store.errors[step] for step in STEPS}
    yield _counts("lockgate_store_errors", "Store operations that failed or were not answered", "operation", errors)
    text = "Commits that were retried because another coordinator's came first"
    yield CounterMetricFamily("lockgate_store_conflicts", text, value=store.conflicts)
    text = "1 if the store answered during this scrape, else 0"
    yield GaugeMetricFamily("lockgate_store_up", text, value=int(answered))


def _rules(journal: Journal, scrape: Scrape) -> Iterator[Metric]:
    text = "Evaluations of groups, each with at most one write"
    yield CounterMetricFamily("lockgate_turns", text, value=scrape.commits)
    text = "Commands of readers and operators in these evaluations, including reads"
    yield CounterMetricFamily("lockgate_commands", text, value=scrape.commands)
    text = "Partition exchanges answered by this process"
    yield CounterMetricFamily("lockgate_split_exchanges", text, value=scrape.exchanges)
    # Zeros too: Prometheus sees no increase in a series that begins with 1.
    counts = {kind.value: journal.counts[kind] for kind in Kind}
    yield _counts("lockgate_state_changes", "Changes of state committed by this process, by kind", "kind", counts)


def _groups(scrape: Scrape) -> Iterator[Metric]:
    def by_group(name: str, text: str, value: Callable[[GroupFigures], float | None]) -> Metric:
        return _gauge(name, text, ["group"], (((group.name,), value(group)) for group in scrape.groups))

    def by_state(name: str, text: str, states: Iterable[str], count: Callable[[GroupFigures, str], int]) -> Metric:
        values = (((group.name, state), count(group, state)) for group in scrape.groups for state in states)
        return _gauge(name, text, ["group", "state"], values)

    yield GaugeMetricFamily("lockgate_groups", "Groups with series of their own", value=len(scrape.groups))
    text = "Stored groups that cannot be read; lockgate groups names each, with the reason"
    yield GaugeMetricFamily("lockgate_groups_unreadable", text, value=len(scrape.unreadable))
    text = "1 if there are more groups than have series, else 0"
    yield GaugeMetricFamily("lockgate_groups_left_out", text, value=int(scrape.more_groups))
    text = "Lowest watermark of all readers that count, in seconds since the epoch; absent if there is none"
    yield by_group("lockgate_group_watermark_timestamp_seconds", text, lambda group: _moment(group.watermark))
    text = "Read limit (Flink's max desired watermark), in seconds since the epoch; absent if there is none"
    yield by_group("lockgate_group_max_desired_watermark_timestamp_seconds", text, lambda group: _moment(group.ceiling))
    yield by_group("lockgate_group_revision", "Revision of the last alignment event", lambda group: group.revision)
    text = "Expected sources that have not reported"
    yield by_group("lockgate_group_missing_sources", text, lambda group: group.missing_sources)
    readers = {group.name: group.readers for group in scrape.groups}
    text = "Readers by state"
    yield by_state("lockgate_group_readers", text, READER_STATES, lambda group, state: readers[group.name][state])
    states = [state.value for state in SplitState]
    text = "Partitions by state, from the last report of their readers"
    yield by_state("lockgate_group_splits", text, states, lambda group, state: group.splits[state])


_OfSource = Callable[[GroupFigures, Figures], float | None]


def _sources(groups: list[GroupFigures]) -> Iterator[Metric]:
    """Yield the metrics of sources. Most of them are left out if no reader reports their values."""
    sources = [(group, name, source) for group in groups for name, source in group.sources.items()]

    def by_source(name: str, text: str, value: _OfSource, made: Callable[..., Metric] = _gauge) -> Metric:
        samples = (((group.name, source), value(group, figures)) for group, source, figures in sources)
        return made(name, text, ["group", "source"], samples)

    text = "How far the source's furthest active reader is above the group's watermark; absent if either has none"
    yield by_source("lockgate_source_drift_seconds", text, _above)
    text = "Readers that wait at the read limit"
    yield by_source("lockgate_source_waiting_readers", text, lambda _, source: source.waiting)
    text = "Readers that have waited for longer than max_wait_ms"
    yield by_source("lockgate_source_overdue_readers", text, lambda _, source: source.overdue)
    text = "Rows below Spark's watermark when they were read, in this run"
    yield by_source("lockgate_source_late_rows", text, lambda _, source: source.late_rows, _counter)
    text = "Estimate of the rows that plain Spark would have dropped in this run and the aligned query kept"
    yield by_source("lockgate_source_rows_saved", text, lambda _, source: source.rows_saved)
    text = "Time until Kafka deletes the first unread record of a paused partition; absent if none is paused"
    yield by_source(
        "lockgate_source_retention_left_seconds", text, lambda _, source: _seconds(source.retention_left_ms)
    )
    text = "Largest lag of a producer behind the clock in this run"
    yield by_source("lockgate_source_producer_lag_seconds", text, lambda _, source: _seconds(source.producer_lag_ms))
    text = "Seconds of event time a second that the slowest active reader reads; above 1 it catches up with the clock"
    yield by_source("lockgate_source_event_time_rate", text, lambda _, source: _seconds(source.event_time_rate))


def _assignments(scrape: Scrape) -> Iterator[Metric]:
    """Yield the number of assigned partitions by state, if any source has an enumerator."""
    samples = [
        ((group.name, source, state), count)
        for group in scrape.groups
        for source, counts in group.assignments.items()
        for state, count in counts.items()
    ]
    if samples:
        text = "Partitions that the coordinator assigns, by state"
        yield _gauge("lockgate_source_assigned_splits", text, ["group", "source", "state"], samples)


def _totals(totals: Totals, groups: list[GroupFigures]) -> Iterator[Metric]:
    names = ((group.name, source) for group in groups for source in group.sources if source != OTHER)
    by_source = sorted(totals.beside(names).items())

    def total(name: str, text: str, value: Callable[[SourceTotals], float]) -> Metric:
        return _counter(name, text, ["group", "source"], ((labels, value(each)) for labels, each in by_source))

    waited = "Time that the source's readers waited at the read limit, summed over readers"
    idle = "Time that the source's readers were idle, summed over readers"
    text = "{}, for reports that this process stored"
    yield total("lockgate_source_waiting_seconds", text.format(waited), lambda source: source.paused_ms / 1000)
    yield total("lockgate_source_idle_seconds", text.format(idle), lambda source: source.idle_ms / 1000)
    text = "Readers that were lost, by commits of this process"
    yield total("lockgate_source_lost_readers", text, lambda source: source.lost)
    text = "Readers passed over because others waited for longer than max_wait_ms, by commits of this process"
    yield total("lockgate_source_passed_over_readers", text, lambda source: source.passed_over)


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _moment(watermark: int) -> float | None:
    return None if watermark in (MIN, MAX) else watermark / 1000


def _above(group: GroupFigures, source: Figures) -> float | None:
    unknown = source.foremost in (MIN, MAX) or group.watermark in (MIN, MAX)
    return None if unknown else (source.foremost - group.watermark) / 1000
