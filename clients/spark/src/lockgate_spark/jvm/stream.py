"""Proxies for Spark's own Kafka source, with which Python decides where each batch ends.

Every class here answers a few methods in place of an object of Spark (`stand_in`). The readers, the
`kafka.*` options and the format of the checkpoint stay Spark's own, so a query can change from
plain Spark to aligned and back.
"""

import logging
import time
from collections.abc import Callable, Mapping, MutableMapping
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JJavaError

from lockgate_http.errors import ConfigurationError
from lockgate_spark.config import Alignment
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.compiler import new_java, new_kafka_log
from lockgate_spark.jvm.event_time import EventTime
from lockgate_spark.jvm.failures import Selected, sentence
from lockgate_spark.jvm.kept import KeptRows
from lockgate_spark.jvm.names import class_name, parse, parsed, render
from lockgate_spark.jvm.opening import SparkAlignedRun, open_run
from lockgate_spark.jvm.stand_in import SparkProxy
from lockgate_spark.jvm.watermarks import NAMED, source_index
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Least, Sampled
from lockgate_spark.telemetry.progress_metrics import late_metrics

log = logging.getLogger("lockgate")

LEAST_OFFSETS_OF_A_TASK = 1_000
"""The smallest share of a core, in offsets, if partitions are divided among several tasks."""
_UNDIVIDED = 1 << 60

_CONNECTOR = "org.apache.spark.sql.connector."
_ANSWERS = ("initialOffset", "latestOffset", "prepareForTriggerAvailableNow", "metrics", "stop")
_INTERFACES = [
    f"{_CONNECTOR}read.streaming.{name}"
    for name in ("MicroBatchStream", "SupportsTriggerAvailableNow", "ReportsSourceMetrics")
]
_ASKED_MS = 10_000  # the longest look at the last records, and wait for the brokers' list of topics


def _opening(java: Any, gateway: Any, interface: str, explain: Any = None, **answers: Any) -> SparkProxy:
    """Return a proxy for one of the objects from which Spark makes a `Stream`."""
    proxy = SparkProxy(java, gateway, [_CONNECTOR + interface], answers)
    vars(proxy).update(answers)
    proxy.explained = explain or proxy.explained  # type: ignore[method-assign]
    return proxy


def aligned_table(spark: Any, table: Any, alignment: Alignment) -> Any:
    """Return a Java object to read in place of `table`, Spark's Kafka table."""
    gateway, event_time = spark.sparkContext._gateway, EventTime.over(spark, table, alignment.event_time)

    def newScanBuilder(options: Any) -> SparkProxy:
        selected, builder = Selected.by(options), table.newScanBuilder(options)
        return _opening(builder, gateway, "read.ScanBuilder", build=lambda: scan(builder.build(), selected))

    def scan(java: Any, selected: Selected) -> SparkProxy:
        def toMicroBatchStream(checkpoint: str) -> Stream:
            stream = java.toMicroBatchStream(checkpoint)
            return open_stream(spark, alignment, checkpoint, stream, selected, event_time)

        def toContinuousStream(_: str) -> Any:
            raise UnsupportedQuery("Trigger.Continuous reads without batches, so there is no plan. Use another trigger")

        answers = {each.__name__: each for each in (toMicroBatchStream, toContinuousStream)}
        return _opening(java, gateway, "read.Scan", selected.explained, **answers)

    return _opening(table, gateway, "catalog.SupportsRead", newScanBuilder=newScanBuilder).java_proxy


class Stream(SparkProxy):
    """A proxy for the stream of one source in one run of a query, as `logs.unread.Source`."""

    def __init__(
        self,
        java: Any,
        gateway: Any,
        selected: Selected,
        aligned: SparkAlignedRun,
        index: int,
        event_time: EventTime | None,
        stand_in: Any = None,
    ) -> None:
        sets_tasks = any(name.lower() in ("minpartitions", "maxrecordsperpartition") for name in selected.given)
        least, tasks = _UNDIVIDED if sets_tasks else LEAST_OFFSETS_OF_A_TASK, None
        if stand_in is None and aligned.alignment.mode != "observe":
            try:
                tasks = new_java(gateway.jvm, java, "lockgate_spark.jvm", "DividedRanges", least)
            except Py4JJavaError as error:
                log.debug("batches are not divided among the cores: %s", error)
        super().__init__(java, gateway, _INTERFACES, _ANSWERS, stand_in, tasks)
        self.event_time = event_time
        self.selected, self._aligned, self._index = selected, aligned, index
        self._all_available = gateway.jvm.org.apache.spark.sql.connector.read.streaming.ReadLimit.allAvailable()
        self._limit = java.getDefaultReadLimit()  # that of all batches
        kafka = self._kafka("KafkaLog")
        if event_time is not None:
            kafka.setEventTime(event_time.projection(), event_time.headers, event_time.micros)
        self.log = KafkaSplitLog(kafka, in_payload=event_time is not None)
        self.budget, self.least = limits_of(self._limit)
        self.fixed_at: int | None = None
        self._fixed_ends: Offsets | None = None
        self._watched: Offsets | None = None

    @cached_property
    def _watch(self) -> Any:
        return self._kafka("KafkaWatch")

    def initialOffset(self) -> Any:
        return self._java.initialOffset()

    def latestOffset(self, start: str) -> Any:
        end = self._decide(start)
        self._keep_late_rows(KeptRows.expect)
        return end

    def is_stopped(self) -> bool:
        return not self._aligned.run.is_active()

    def explained(self, error: Exception) -> Exception:
        return self.selected.explained(error, lambda: str(self._watch.topics(_ASKED_MS)).splitlines())

    def _decide(self, start: str) -> Any:
        if self._aligned.alignment.mode == "observe":
            native = self._java.latestOffset(self._java.deserializeOffset(start), self._limit)
            self._aligned.observe(self._index, parse(start), parsed(native) or {})
            return native
        end = self._aligned.latest_offset(self._index, parse(start))
        # Without an end no topic matches: for None Spark waits, and runs no batch.
        return self._java.deserializeOffset(render(end)) if end else None

    def prepareForTriggerAvailableNow(self) -> None:
        self.fixed_at = int(time.time() * 1000)
        self._java.prepareForTriggerAvailableNow()

    def metrics(self) -> bytes:
        metrics: dict[str, str] = {}
        try:
            metrics = self._own_metrics()
        except Exception as error:
            # a metric only informs: its failure must not stop the query
            log.debug("cannot add the alignment to Spark's progress: %s", error)
        self._keep_late_rows(KeptRows.take)
        return "\0".join(text for item in metrics.items() for text in item).encode()

    def _keep_late_rows(self, step: Callable[[KeptRows], None]) -> None:
        """Call `step` with the table of late rows, if any. Observe mode must run as without
        lockgate, so only errors in the query or its options are raised.
        """
        if self._aligned.table is None:
            return
        try:
            step(self._aligned.table)
        except Exception as error:
            refused = isinstance(error, UnsupportedQuery | ConfigurationError)
            if refused or self.is_stopped() or self._aligned.alignment.mode != "observe":
                raise  # the next run writes them
            log.error("late rows were not written to %s: %s", self._aligned.table.path, sentence(error))

    def _own_metrics(self) -> dict[str, str]:
        metrics = self._aligned.planner.observer.progress(self._index)
        count, late = self._aligned.count, None
        if count is not None:
            count.take()
            late = count.last.get(self._index)
            metrics |= late_metrics({}, True) if late is None else late_metrics(late.lost, late.exact)
            self._aligned.tell_late(self._index, count.total[self._index])
            if self._aligned.report is not None and count.uncounted:
                self._aligned.report.found.uncounted = count.uncounted
        self._aligned.tell_report(lambda report: report.after_batch(self._index, late))
        return metrics

    def stop(self) -> None:
        try:
            if self._aligned.count is not None and self._aligned.alignment.mode != "observe":
                self._aligned.count.sum_up()
            if self._aligned.table is not None:
                self._aligned.table.sum_up()
            self._aligned.close()
            if "_watch" in vars(self):
                self._watch.close()
        finally:
            self._java.stop()

    def initial(self) -> Offsets:
        return parse(self._java.initialOffset().json())

    def comes(self, ends: Offsets, seconds: float) -> bool:
        if ends != self._watched:
            self._watch.watch("\n".join(_line(split, end) for split, end in ends.items()))
            self._watched = dict(ends)
        return bool(self._watch.comes(int(seconds * 1000)))

    def sampled(self, ranges: Mapping[str, tuple[int, int]]) -> Sampled:
        assert self.event_time is not None
        lines = "\n".join(_line(split, *each) for split, each in ranges.items())
        projection, headers = self.event_time.projection(), self.event_time.headers
        found = self._kafka("KafkaSample").look(lines, projection, headers, _ASKED_MS)
        looked, valued, timed, value = str(found).split("\t", 3)
        return Sampled(int(looked), int(valued), int(timed), value)

    def ends(self, start: Offsets) -> Offsets:
        if self._fixed_ends is not None:
            return self._fixed_ends
        self.log.requests.made += 1
        # The ends come from Spark's object: it finds new partitions, fixes the ends under
        # AvailableNow, and needs them for its own metrics.
        ends = parsed(self._java.latestOffset(self._java.deserializeOffset(render(start)), self._all_available)) or {}
        self._fixed_ends = None if self.fixed_at is None else ends
        return ends

    def _kafka(self, kind: str) -> Any:
        """Return a new object of a Java class with the settings of the driver's Kafka client."""
        spark = self._gateway.jvm.org.apache.spark
        params = spark.api.python.PythonUtils.toScalaMap(self._java.kafkaOffsetReader().driverKafkaParams())
        updater = spark.kafka010.KafkaConfigUpdater("source", params)
        return new_kafka_log(self._gateway, self._java, updater.setAuthenticationConfigIfNeeded().build(), kind)


def _line(split: str, *offsets: int) -> str:
    """Return a split and its offsets as our Java classes read them."""
    return "\t".join((*split.rpartition("-")[::2], *map(str, offsets)))


def open_stream(
    spark: Any,
    alignment: Alignment,
    checkpoint: str,
    java: Any,
    selected: Selected,
    event_time: EventTime | None,
    stand_in: Any = None,
    kept: MutableMapping[str, str] | None = None,
) -> Stream:
    """Return the stream of a source as a part of the query's aligned run, in place of Spark's
    `java`. An error ends the run. `kept` is that of `AlignedRun`.
    """
    aligned = open_run(spark, alignment, checkpoint, kept)
    try:
        index = source_index(checkpoint)
        name = checkpoint.rstrip("/").rpartition("/")[2]
        if index in aligned.sources:
            raise ConfigurationError(
                f'readStream.name("{name}"): another source of the query has the same number, {index}. Give one '
                "another name"
            )
        stream = Stream(java, spark.sparkContext._gateway, selected, aligned, index, event_time, stand_in)
        aligned.add(index, stream)
        if index >= NAMED and (member := aligned.membership) is not None:
            log.info('group %s: source "%s" is reader %s/%d', member.group, name, member.source, index)
        return stream
    except Exception:
        aligned.end()
        raise


def limits_of(limit: Any) -> tuple[int | None, Least | None]:
    """Return the most offsets per batch that a `ReadLimit` allows, and the least, if set."""
    most: int | None = None
    least: Least | None = None
    for part in limit.getReadLimits() if class_name(limit) == "CompositeReadLimit" else [limit]:
        name = class_name(part)
        if name == "ReadMaxRows":
            most = int(part.maxRows())
            if most < 1:
                raise ConfigurationError(f"maxOffsetsPerTrigger={most}: must be at least 1, or be left out")
        elif name == "ReadMinRows":
            least = Least(int(part.minRows()), int(part.maxTriggerDelayMs()))
        elif name != "ReadAllAvailable":
            raise UnsupportedQuery(f"the source's batches are limited by {name}: set maxOffsetsPerTrigger instead")
    return most, least
