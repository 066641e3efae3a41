"""The metrics of groups and their sources. A deleted group has none."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from lockgate.watermark import MAX, MIN
from lockgate.wire.events import SplitState
from lockgate_coordinator.telemetry.figures import GroupFigures, Scrape
from lockgate_coordinator.telemetry.totals import OTHER, SourceTotals, Totals

READER_STATES = ("registered", "active", "idle", "parked", "finished", "passed_over", "lost")


def families_of(scrape: Scrape, totals: Totals) -> Iterator[Metric]:
    yield GaugeMetricFamily("lockgate_groups", "Groups with series of their own", value=len(scrape.groups))
    text = "Stored groups that cannot be read; lockgate groups names each, with the reason"
    yield GaugeMetricFamily("lockgate_groups_unreadable", text, value=len(scrape.unreadable))
    yield GaugeMetricFamily(
        "lockgate_groups_left_out",
        "1 if there are more groups than have series, else 0",
        value=int(scrape.more_groups),
    )
    yield from _groups(scrape.groups)
    yield from _sources(scrape.groups)
    yield from _facts(scrape.groups)
    yield from _assignments(scrape)
    yield from _totals(
        totals.beside((group.name, source) for group in scrape.groups for source in group.sources if source != OTHER)
    )
    if any(group.named_splits for group in scrape.groups):
        yield from _splits(scrape.groups)


def _groups(groups: list[GroupFigures]) -> Iterator[Metric]:
    def by_group(name: str, text: str, value: Callable[[GroupFigures], float | None]) -> Metric:
        family = GaugeMetricFamily(name, text, labels=["group"])
        for group in groups:
            if (number := value(group)) is not None:
                family.add_metric([group.name], number)
        return family

    text = "Lowest watermark of all readers that count, in seconds since the epoch; absent if there is none"
    yield by_group("lockgate_group_watermark_timestamp_seconds", text, lambda group: _seconds(group.watermark))
    text = "Read limit (Flink's max desired watermark), in seconds since the epoch; absent if there is none"
    yield by_group(
        "lockgate_group_max_desired_watermark_timestamp_seconds", text, lambda group: _seconds(group.ceiling)
    )
    yield by_group("lockgate_group_revision", "Revision of the last alignment event", lambda group: group.revision)
    yield by_group(
        "lockgate_group_missing_sources", "Expected sources that have not reported", lambda group: group.missing_sources
    )
    readers = GaugeMetricFamily("lockgate_group_readers", "Readers by state", labels=["group", "state"])
    splits = GaugeMetricFamily(
        "lockgate_group_splits", "Partitions by state, from the last report of their readers", labels=["group", "state"]
    )
    for group in groups:
        counted = group.readers
        for state in READER_STATES:
            readers.add_metric([group.name, state], counted[state])
        for split_state in SplitState:
            splits.add_metric([group.name, split_state.value], group.splits[split_state.value])
    yield readers
    yield splits


def _sources(groups: list[GroupFigures]) -> Iterator[Metric]:
    labels = ["group", "source"]
    text = "How far the source's furthest active reader is above the group's watermark; absent if either has none"
    drift = GaugeMetricFamily("lockgate_source_drift_seconds", text, labels=labels)
    waiting = GaugeMetricFamily("lockgate_source_waiting_readers", "Readers that wait at the read limit", labels=labels)
    overdue = GaugeMetricFamily(
        "lockgate_source_overdue_readers", "Readers that have waited for longer than max_wait_ms", labels=labels
    )
    for group in groups:
        for name, source in group.sources.items():
            if (above := _above(group, source.foremost)) is not None:
                drift.add_metric([group.name, name], above)
            waiting.add_metric([group.name, name], source.waiting)
            overdue.add_metric([group.name, name], source.overdue)
    yield from (drift, waiting, overdue)


def _facts(groups: list[GroupFigures]) -> Iterator[Metric]:
    """Yield the metrics that queries report of themselves. Each is absent if no reader reports
    it.
    """
    labels = ["group", "source"]
    late = CounterMetricFamily(
        "lockgate_source_late_rows", "Rows below Spark's watermark when they were read, in this run", labels=labels
    )
    text = "Estimate of the rows that plain Spark would have dropped in this run and the aligned query kept"
    saved = GaugeMetricFamily("lockgate_source_rows_saved", text, labels=labels)
    text = "Time until Kafka deletes the first unread record of a paused partition; absent if none is paused"
    left = GaugeMetricFamily("lockgate_source_retention_left_seconds", text, labels=labels)
    text = "Largest lag of a producer behind the clock in this run"
    lag = GaugeMetricFamily("lockgate_source_producer_lag_seconds", text, labels=labels)
    text = "Seconds of event time a second that the slowest active reader reads; above 1 it catches up with the clock"
    rate = GaugeMetricFamily("lockgate_source_event_time_rate", text, labels=labels)
    for group in groups:
        for name, source in group.sources.items():
            for family, value in (
                (late, source.late_rows),
                (saved, source.rows_saved),
                (left, _in_seconds(source.retention_left_ms)),
                (lag, _in_seconds(source.producer_lag_ms)),
                (rate, _in_seconds(source.event_time_rate)),
            ):
                if value is not None:
                    family.add_metric([group.name, name], value)
    yield from (late, saved, left, lag, rate)


def _assignments(scrape: Scrape) -> Iterator[Metric]:
    """Yield how many partitions the coordinator has assigned."""
    text = "Partitions that the coordinator assigns, by state"
    splits = GaugeMetricFamily("lockgate_source_assigned_splits", text, labels=["group", "source", "state"])
    for group in scrape.groups:
        for source, counts in group.assignments.items():
            for state, count in counts.items():
                splits.add_metric([group.name, source, state], count)
    if splits.samples:
        yield splits
    text = "Partition exchanges answered by this process"
    yield CounterMetricFamily("lockgate_split_exchanges", text, value=scrape.exchanges)


def _in_seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _totals(totals: Mapping[tuple[str, str], SourceTotals]) -> Iterator[Metric]:
    by_source = sorted(totals.items())

    def total(name: str, text: str, value: Callable[[SourceTotals], float]) -> Metric:
        family = CounterMetricFamily(name, text, labels=["group", "source"])
        for labels, totals_of in by_source:
            family.add_metric(labels, value(totals_of))
        return family

    text = (
        "Time that the source's readers waited at the read limit, summed over readers, for reports that this "
        "process stored"
    )
    yield total("lockgate_source_waiting_seconds", text, lambda source: source.paused_ms / 1000)
    text = "Time that the source's readers were idle, summed over readers, for reports that this process stored"
    yield total("lockgate_source_idle_seconds", text, lambda source: source.idle_ms / 1000)
    yield total(
        "lockgate_source_lost_readers", "Readers that were lost, by commits of this process", lambda source: source.lost
    )
    text = "Readers passed over because others waited for longer than max_wait_ms, by commits of this process"
    yield total("lockgate_source_passed_over_readers", text, lambda source: source.passed_over)


def _splits(groups: list[GroupFigures]) -> Iterator[Metric]:
    labels = ["group", "source", "subtask", "split"]
    text = "Watermark of the partition, in seconds since the epoch; absent if there is none"
    watermark = GaugeMetricFamily("lockgate_split_watermark_timestamp_seconds", text, labels=labels)
    text = "How far the partition is above the group's watermark; absent if either has none"
    drift = GaugeMetricFamily("lockgate_split_drift_seconds", text, labels=labels)
    paused = GaugeMetricFamily(
        "lockgate_split_paused", "1 if the partition's reader reports it as paused, else 0", labels=labels
    )
    for group in groups:
        for source, subtask, name, split in group.named_splits:
            values = [group.name, source, str(subtask), name]
            if (seconds := _seconds(split.watermark)) is not None:
                watermark.add_metric(values, seconds)
            if (above := _above(group, split.watermark)) is not None:
                drift.add_metric(values, above)
            paused.add_metric(values, int(split.state is SplitState.PAUSED))
    yield from (watermark, drift, paused)


def _seconds(watermark: int) -> float | None:
    return None if watermark in (MIN, MAX) else watermark / 1000


def _above(group: GroupFigures, watermark: int) -> float | None:
    ends = (MIN, MAX)
    return None if watermark in ends or group.watermark in ends else (watermark - group.watermark) / 1000
