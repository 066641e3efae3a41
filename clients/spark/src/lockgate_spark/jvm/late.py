"""Counts the rows that Spark drops as late (`Alignment(late_rows="count")`)."""

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.dropped import DroppedRows
from lockgate_spark.jvm.failures import sentence
from lockgate_spark.jvm.query import QueryRun
from lockgate_spark.report.findings import BatchLoss

log = logging.getLogger("lockgate")


class LateCount:
    """Counts the late rows of one run. The arguments are those of `DroppedRows`."""

    def __init__(self, spark: SparkSession, run: QueryRun, sources: Mapping[int, Any]) -> None:
        self._spark, self._run, self._sources = spark, run, sources
        self._dropped: DroppedRows | None = None
        self._counted: int | None = None
        self._by_split: Counter[str] = Counter()
        self.last: dict[int, BatchLoss] = {}  # by source, of the last batch
        self.total: Counter[int] = Counter()  # by source, of all batches
        self.uncounted = ""  # why the rows of some batch could not be counted

    def take(self) -> None:
        """Count the late rows of the last batch, after each batch. Warn of the run's first ones."""
        batch = self._run.last_batch()
        if batch is None or batch == self._counted:
            return
        self._counted, self.last = batch, {}
        try:
            if self._run.dropped():
                self.last = self._count(batch)
        except Exception as error:
            log.log(logging.DEBUG if self.uncounted else logging.WARNING, "cannot count late rows: %s", sentence(error))
            self.uncounted = sentence(error)
        lost = Counter[str]()
        for source, found in self.last.items():
            lost.update(found.lost)
            self.total[source] += sum(found.lost.values())
        if lost and not self._by_split:
            log.warning("batch %d has %s late rows, which Spark has dropped. By partition: %s", batch, *_summary(lost))
        self._by_split.update(lost)

    def sum_up(self) -> None:
        if self._by_split:
            said = "this run had %s late rows, which Spark has dropped. By partition: %s"
            log.warning(said, *_summary(self._by_split))
            self._by_split.clear()

    def _count(self, batch: int) -> dict[int, BatchLoss]:
        if self._dropped is None:
            try:
                self._dropped = DroppedRows(self._spark, self._run, self._sources)
            except UnsupportedQuery as error:
                log.info("late rows are counted where they are read, as an upper bound: %s", error)
                self._dropped = DroppedRows(self._spark, self._run, self._sources, exact=False)
        return self._dropped.counts(batch)


def _summary(rows: Counter[str]) -> tuple[int, str]:
    return rows.total(), ", ".join(f"{split} {n}" for split, n in sorted(rows.items()))
