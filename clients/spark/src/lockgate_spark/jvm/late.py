"""Counts by split the rows that are behind Spark's watermark as they are read, before any
aggregation.

Spark filters a batch with the watermark that is logged with the batch *before* it. No SQL
expression gives that watermark. So the plan compares each row's event time with a literal: an array
of one element, which is overwritten before each batch. Spark optimises the plan of each batch anew,
and reads the new value.

`DataFrame.observe` counts the rows behind, in a histogram with a bin for every split; such a
histogram is exact. It sees the rows as the source has made them, and copies none. A row that is not
behind costs one comparison. A second histogram has the rows whose whole window is behind.
"""

import json
import logging
import uuid
import zlib
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.losses import Tumbling
from lockgate_spark.jvm.query import QueryRun
from lockgate_spark.report.findings import BatchLoss

log = logging.getLogger("lockgate")

MOST_SPLITS = 10_000
"""If more splits of one batch had late rows, the histogram would merge neighbours."""

_CODE = "CAST(crc32(CAST(topic AS BINARY)) * 1048576L + partition AS DOUBLE)"  # below 2^53: exact


def _code(split: str) -> float:
    topic, _, partition = split.rpartition("-")
    return float(zlib.crc32(topic.encode()) * 1_048_576 + int(partition))


class CountingPlace(NamedTuple):
    """Where a plan counts: the name of its `observe`, and the array that it compares with, in
    microseconds: the watermark, and the last instant whose window is behind it.
    """

    name: str
    below: Any

    @classmethod
    def new(cls, spark: Any) -> "CountingPlace":
        """A place of its own among all of this JVM, which several Pythons may share."""
        longs = spark.sparkContext._gateway.new_array(spark._jvm.long, 2)
        below = spark._jvm.org.apache.spark.sql.catalyst.expressions.UnsafeArrayData.fromPrimitiveArray(longs)
        return cls(f"lockgate_late_rows_{uuid.uuid4().hex}", below)


class LateRows:
    """The count over one source. `event_time`: SQL over its columns; `micros`: a TIMESTAMP, not a
    BIGINT of ms. `lenient`: a run that cannot be counted runs all the same. `place`: of the count
    in a plan that was made before.
    """

    def __init__(
        self, spark: Any, event_time: str, micros: bool, lenient: bool = False, place: CountingPlace | None = None
    ) -> None:
        self._lenient = lenient
        self._spark, self._event_time = spark, event_time if micros else f"timestamp_millis({event_time})"
        self.place = place or CountingPlace.new(spark)
        self._name, self._below = self.place
        self._run: QueryRun | None = None
        self._counted = -1  # the last batch whose rows were counted
        self._watermark = 0  # of the batch in hand, ms
        self._windows: Tumbling | None = None
        self.last: dict[str, int] = {}
        self.batch: BatchLoss | None = None
        self.total: Counter[str] = Counter()

    def over(self, relation: Any) -> Any:
        """The plan that reads a source and counts on the way; its columns are the source's."""
        sql = self._spark._jvm.org.apache.spark.sql
        df = DataFrame(sql.classic.Dataset.ofRows(self._spark._jsparkSession, relation), self._spark)
        literal = sql.catalyst.expressions.Literal(self._below, sql.types.DataType.fromDDL("ARRAY<TIMESTAMP_LTZ>"))
        below, event_time = Column(sql.classic.ExpressionUtils.column(literal)), F.expr(self._event_time)
        behind = event_time <= below[0]

        def by_split(rows: Column) -> Column:
            return F.histogram_numeric(F.when(rows, F.expr(_CODE)), F.lit(MOST_SPLITS))

        counts = (
            by_split(behind).alias("splits"),
            by_split(behind & (event_time <= below[1])).alias("lost"),
            F.min(F.when(behind, F.unix_millis(event_time))).alias("oldest"),
            F.count(F.lit(1)).alias("rows"),
        )
        return df.observe(self._name, *counts)._jdf.queryExecution().analyzed()

    def begin(self, checkpoint: str) -> bool:
        """Counts for the run that opens the source with this checkpoint, and returns whether it
        can. While another run is active it cannot, since each query has a watermark of its own:
        then raises `UnsupportedQuery`, or is `lenient`.
        """
        run = QueryRun.opening(self._spark, checkpoint)
        if self._run is not None and self._run.run_id != run.run_id and self._run.is_active():
            if self._lenient:
                return False
            raise UnsupportedQuery(
                'with late_rows="count" an aligned DataFrame serves one query at a time: align it anew for each'
            )
        self._run, self._counted = run, -1
        self.last, self.batch, self.total, self._windows = {}, None, Counter(), None
        self._expect()
        return True

    def expect(self) -> None:
        """Notes the watermark that filters the next batch. To be called before each batch."""
        assert self._run is not None
        if self._windows is None:
            self._windows = self._run.windows() or Tumbling()
        self._expect()

    def _expect(self) -> None:
        """The same, also while Spark opens the sources and the query's plan is not known."""
        assert self._run is not None
        self._watermark = self._run.late_below()
        micros = 1000 * self._watermark
        self._below.setLong(0, micros)
        self._below.setLong(1, micros if self._windows is None else self._windows.closed_below(micros))

    def take(self, splits: Iterable[str]) -> None:
        """Takes the counts of a batch, into `batch` if it is a new one, else None. To be called
        after each batch. `splits`: those of the batch.
        """
        self.batch = None
        observed = None if self._run is None else self._run.observed(self._name)
        if observed is None or observed[0] == self._counted:
            return
        self._counted, names = observed[0], {_code(split): split for split in splits}
        found = json.loads(observed[1])
        self.last, lost = ({names[one["x"]]: int(one["y"]) for one in found[of] or []} for of in ("splits", "lost"))
        self.batch = BatchLoss(
            found["rows"], self.last, lost, found.get("oldest"), self._watermark, exact=self._windows is not None
        )
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
