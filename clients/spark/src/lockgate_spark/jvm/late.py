"""Counts the rows of each split that are behind Spark's watermark when they are read, before any
aggregation.

Spark filters a batch with the watermark that is logged with the batch *before* it, and no SQL
expression gives that watermark. So the plan compares each row's event time with a literal, an array
that is overwritten before each batch. Spark optimises the plan again for each batch, and so reads
the new value.

`DataFrame.observe` counts the late rows in a histogram with two bins for every split, one of them
for rows whose whole window is behind the watermark. It sees the rows as the source returns them and
copies none. A row that is not late costs one comparison.

**Rows without a usable time** never count as late: their time is null or before 1970, or its
expression fails. The alignment leaves them out. Spark's own watermark is always later than 1970. So
it drops such a row if the event time that the query itself uses is before 1970, too. The count
cannot see that.
"""

import logging
import uuid
from collections import Counter
from typing import Any, NamedTuple

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.counted import CODE, MOST_BINS, CountedPlace
from lockgate_spark.jvm.event_time import OF_KAFKA, unless_it_fails
from lockgate_spark.jvm.losses import Tumbling
from lockgate_spark.jvm.query import QueryRun
from lockgate_spark.report.findings import BatchLoss
from lockgate_spark.spark_lines import column_of

log = logging.getLogger("lockgate")

SEVERAL = "spark.sql.streaming.statefulOperator.allowMultiple"
"""Spark's switch for several stateful operators in a plan. Late rows can be counted and kept only
while it is on.
"""

_NOTHING = -1  # no row is at or below it


def allows_several(conf: Any) -> bool:
    """Return whether a session's conf has `SEVERAL` on, as by default. `conf` may be Java's."""
    return str(conf.get(SEVERAL, "true")).lower() == "true"


class CountingPlace(NamedTuple):
    """The place in a plan where late rows are counted.

    Attributes:
        name: The name of the `DataFrame.observe` that counts them.
        below: An array of two times in the unit of the event time, with which each row is compared:
            the watermark, and the last instant whose window ends at or below it.
    """

    name: str
    below: Any

    @classmethod
    def new(cls, spark: Any) -> "CountingPlace":
        """Return a new place with a name that is unique in this JVM, which several Python processes
        may share.
        """
        longs = spark.sparkContext._gateway.new_array(spark._jvm.long, 2)
        below = spark._jvm.org.apache.spark.sql.catalyst.expressions.UnsafeArrayData.fromPrimitiveArray(longs)
        return cls(f"lockgate_late_rows_{uuid.uuid4().hex}", below)


class LateRows:
    """Counts the late rows in the plan of one aligned table.

    Args:
        spark: The session.
        event_time: The event time, as SQL over the table's columns.
        micros: Whether it is a TIMESTAMP instead of a BIGINT of ms.
        lenient: Whether a run continues if its rows cannot be counted.
        place: The place in the plan where rows are counted. Default: a new place.
    """

    def __init__(
        self, spark: Any, event_time: str, micros: bool, lenient: bool = False, place: CountingPlace | None = None
    ) -> None:
        self._spark, self._event_time, self._micros, self._lenient = spark, event_time, micros, lenient
        self.place = place or CountingPlace.new(spark)
        self._run: QueryRun | None = None
        self.watermark = 0
        self.windows: Tumbling | None = None

    def over(self, relation: Any) -> Any:
        """Return the plan `relation`, which reads the source, with the count of late rows added.
        Rows and columns stay the same.
        """
        sql, session = self._spark._jvm.org.apache.spark.sql, self._spark._jsparkSession
        df = DataFrame(session.emptyDataFrame().ofRows(session, relation), self._spark)
        kind = f"ARRAY<{'TIMESTAMP_LTZ' if self._micros else 'BIGINT'}>"
        literal = sql.catalyst.expressions.Literal(self.place.below, sql.types.DataType.fromDDL(kind))
        below = Column(column_of(self._spark._jvm, literal))
        time = unless_it_fails(self._spark, self._event_time, OF_KAFKA)
        early = time < (F.timestamp_millis(F.lit(0)) if self._micros else F.lit(0))
        late = (time <= below[0]) & ~early  # of most rows the first comparison is enough
        code = (F.expr(CODE) + F.when(time <= below[1], 1).otherwise(0)).cast("double")
        counts = (
            F.histogram_numeric(F.when(late, code), F.lit(MOST_BINS)).alias("late"),
            F.histogram_numeric(F.lit(0.0), F.lit(MOST_BINS)).alias("tasks"),
            F.count(F.when(early, 1)).alias("early"),
            F.count(F.when(time.isNull(), 1)).alias("untimed"),
            F.min(F.when(late, F.unix_millis(time) if self._micros else time)).alias("oldest"),
        )
        return df.observe(self.place.name, *counts)._jdf.queryExecution().analyzed()

    def begin(self, checkpoint: str, stand_in: Any) -> "LateCount | None":
        """Return a new count for the run that opens the source with this `checkpoint`. `stand_in`
        is the Java half of the source's proxy.

        Each query has its own watermark, so the plan can count for one run at a time. While another
        run is active, return None if `lenient`. Otherwise raise `UnsupportedQuery`.
        """
        run = QueryRun.opening(self._spark, checkpoint)
        if self._run is not None and self._run.run_id != run.run_id and self._run.is_active():
            if self._lenient:
                return None
            raise UnsupportedQuery(
                'with late_rows="count" an aligned DataFrame serves one query at a time: call align() again for each'
            )
        self._run, self.windows = run, None
        self._set()
        return LateCount(self, run, stand_in)

    def expect(self) -> None:
        """Write the watermark that filters the next batch into the plan. Call it before each
        batch.
        """
        assert self._run is not None
        if self.windows is None:
            self.windows = self._run.windows() or Tumbling()
        self._set()
        if not self._run.watermarks():
            self.set_below(_NOTHING, _NOTHING)

    def _set(self) -> None:
        """Write the watermark of the next batch into the plan. This also works while Spark opens
        the sources, before the query's windows are known.
        """
        assert self._run is not None
        self.watermark = self._run.late_below()
        micros = 1000 * self.watermark
        closed = micros if self.windows is None else self.windows.closed_below(micros)
        self.set_below(micros, max(closed, _NOTHING))

    def set_below(self, watermark: int, closed: int) -> None:
        """Set the two times with which the rows of the next batch are compared: the watermark, and
        `closed`, the last instant whose window ends at or below it. Both are in microseconds.
        """
        for n, micros in enumerate((watermark, closed)):
            self.place.below.setLong(n, micros if self._micros else micros // 1000)


class LateCount:
    """The late rows of one source in one run.

    Attributes:
        last: Late rows of the last batch, by split.
        total: Late rows of all batches, by split.
        untimed: Rows of the last batch without a usable time.
        exact: False if the counts of the last batch are upper bounds.
        batch: The result of the last call of `take`; None if that call found no new batch.
    """

    def __init__(self, rows: LateRows, run: QueryRun, stand_in: Any) -> None:
        self._rows, self._run, self._stand_in = rows, run, stand_in
        self._counted = -1  # the last batch whose rows were counted
        self.last: Counter[str] = Counter()
        self.total: Counter[str] = Counter()
        self.untimed, self.exact = 0, True
        self.batch: BatchLoss | None = None

    def expect(self) -> None:
        """Write the watermark that filters the next batch into the plan, as `LateRows.expect`
        does.
        """
        self._rows.expect()

    def take(self) -> None:
        """Read the counts of the last batch, and log a warning if they are the run's first late
        rows. Call it after each batch.
        """
        self.batch, number = None, self._run.last_batch()
        if number is None or number == self._counted:
            return
        self._counted = number
        places = self._run.counted(self._rows.place.name, self._stand_in)
        self.batch = _together(places, self._rows.watermark, self._rows.windows is not None)
        self.last, self.exact = Counter(self.batch.late), self.batch.counted_once
        self.untimed = self.batch.early + self.batch.untimed
        if self.last and not self.total:
            log.warning(
                "batch %d has %s late rows, which were read after Spark's watermark had passed them. By partition: %s",
                number,
                *self._summary(self.last),
            )
        self.total.update(self.last)

    def sum_up(self) -> None:
        """Log how many rows of the run were late, if any."""
        if self.total:
            log.warning(
                "this run had %s late rows, which were read after Spark's watermark had passed them. By partition: %s",
                *self._summary(self.total),
            )

    @staticmethod
    def _summary(rows: Counter[str]) -> tuple[int, str]:
        return rows.total(), ", ".join(f"{split} {n}" for split, n in sorted(rows.items()))


def _together(places: list[CountedPlace], watermark: int, windows_known: bool) -> BatchLoss:
    """Return the late rows of a batch of one source. The counts in `places` are added, because the
    batch's plan may read the source at several places.

    `watermark` is Spark's watermark (ms) for the batch. `windows_known` says whether the query's
    windows were known when the batch was read. If not, the number of lost rows is not exact.
    """
    late, lost = Counter[str](), Counter[str]()
    for place in places:
        late.update(place.late)
        lost.update(place.lost)
    return BatchLoss(
        sum(place.rows for place in places),
        late,
        lost,
        min((place.oldest for place in places if place.oldest is not None), default=None),
        watermark,
        exact=windows_known,
        early=sum(place.early for place in places),
        untimed=sum(place.untimed for place in places),
        counted_once=all(place.exact for place in places),
    )
