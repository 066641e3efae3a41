"""Counts by split the rows that are behind Spark's watermark as they are read, before any
aggregation.

Spark filters a batch with the watermark that is logged with the batch *before* it. No SQL
expression gives that watermark. So the plan compares each row's event time with a literal: an array
of one element, which is overwritten before each batch. Spark optimises the plan of each batch anew,
and reads the new value.

`DataFrame.observe` counts the rows behind, in a histogram with a bin for every split; such a
histogram is exact. It sees the rows as the source has made them, and copies none. A row that is not
behind costs one comparison.
"""

import itertools
import json
import logging
import zlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.query import QueryRun

log = logging.getLogger("lockgate")

MOST_SPLITS = 10_000
"""If more splits of one batch had late rows, the histogram would merge neighbours."""

_CODE = "CAST(crc32(CAST(topic AS BINARY)) * 1048576L + partition AS DOUBLE)"  # below 2^53: exact

_numbers = itertools.count(1)


def _code(split: str) -> float:
    topic, _, partition = split.rpartition("-")
    return float(zlib.crc32(topic.encode()) * 1_048_576 + int(partition))


class LateRows:
    """The count over one source. `event_time`: SQL over its columns; `micros`: a TIMESTAMP, not a
    BIGINT of ms.
    """

    def __init__(self, spark: Any, event_time: str, micros: bool) -> None:
        self._spark, self._event_time = spark, event_time if micros else f"timestamp_millis({event_time})"
        self._name = f"lockgate_late_rows_{next(_numbers)}"
        longs = spark.sparkContext._gateway.new_array(spark._jvm.long, 1)
        # microseconds
        self._below = spark._jvm.org.apache.spark.sql.catalyst.expressions.UnsafeArrayData.fromPrimitiveArray(longs)
        self._run: QueryRun | None = None
        self._counted = -1  # the last batch whose rows were counted
        self.last: dict[str, int] = {}
        self.total: Counter[str] = Counter()

    def over(self, relation: Any) -> Any:
        """The plan that reads a source and counts on the way; its columns are the source's."""
        sql = self._spark._jvm.org.apache.spark.sql
        df = DataFrame(sql.classic.Dataset.ofRows(self._spark._jsparkSession, relation), self._spark)
        literal = sql.catalyst.expressions.Literal(self._below, sql.types.DataType.fromDDL("ARRAY<TIMESTAMP>"))
        behind = F.expr(self._event_time) <= Column(sql.classic.ExpressionUtils.column(literal))[0]
        bins = F.histogram_numeric(F.when(behind, F.expr(_CODE)), F.lit(MOST_SPLITS)).alias("splits")
        return df.observe(self._name, bins)._jdf.queryExecution().analyzed()

    def begin(self, checkpoint: str) -> None:
        """Counts for the run that opens the source with this checkpoint. Raises `UnsupportedQuery`
        while another run is active: each query has a watermark of its own.
        """
        run = QueryRun.opening(self._spark, checkpoint)
        if self._run is not None and self._run.run_id != run.run_id and self._run.is_active():
            raise UnsupportedQuery(
                'with late_rows="count" an aligned DataFrame serves one query at a time: align it anew for each'
            )
        self._run, self._counted = run, -1
        self.last, self.total = {}, Counter()
        self.expect()

    def expect(self) -> None:
        """Notes the watermark that filters the next batch. To be called before each batch."""
        assert self._run is not None
        self._below.setLong(0, 1000 * self._run.late_below())

    def take(self, splits: Iterable[str]) -> None:
        """Takes the counts of a batch. To be called after each batch. `splits`: those of the
        batch.
        """
        observed = None if self._run is None else self._run.observed(self._name)
        if observed is None or observed[0] == self._counted:
            return
        self._counted, names = observed[0], {_code(split): split for split in splits}
        bins = json.loads(observed[1])["splits"] or []
        self.last = {names[one["x"]]: int(one["y"]) for one in bins}
        if self.last and not self.total:
            log.warning(
                "batch %d: %s rows were behind Spark's watermark when they were read: %s",
                *observed[:1],
                *self._summary(self.last),
            )
        self.total.update(self.last)

    def sum_up(self) -> None:
        """Logs how many rows of the run were late, if any."""
        if self.total:
            log.warning("%s rows were behind Spark's watermark when they were read: %s", *self._summary(self.total))

    @staticmethod
    def _summary(rows: dict[str, int]) -> tuple[int, str]:
        return sum(rows.values()), ", ".join(f"{split} {n}" for split, n in sorted(rows.items()))
