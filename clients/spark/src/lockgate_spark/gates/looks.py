"""The event times of a batch in foreachBatch, in a classic session and over Connect."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame

from lockgate_http.errors import ConfigurationError
from lockgate_spark.event_times import TIME, Credible, Span

# a type that is event time, and its SQL for ms
_MILLIS = {"timestamp": "unix_millis({})", "long": "{}"}


def look(times: DataFrame, event_time: str, credible: Credible) -> tuple[Span | None, int]:
    """Return the range of a batch's credible event times, and the number of rows without a credible
    event time. The range is None if there are no such event times. Spark computes both in one
    aggregate.

    `times` has only the column `TIME`, the result of the SQL expression `event_time`. Raises
    `ConfigurationError` if the expression is of another type than TIMESTAMP or BIGINT.
    """
    kind = times.schema[0].dataType.typeName()
    if kind not in _MILLIS:
        raise ConfigurationError(
            f"gate(event_time={event_time!r}): it is of type {kind}, and event time is a TIMESTAMP, or a BIGINT "
            "of ms since 1970"
        )
    ms = times.selectExpr(f"{_MILLIS[kind].format(TIME)} AS ms")
    taken = f"ms BETWEEN {credible.earliest} AND {credible.latest}"
    row = ms.selectExpr(
        f"min(ms) FILTER (WHERE {taken}) AS lowest",
        f"max(ms) FILTER (WHERE {taken}) AS highest",
        f"count_if(ms IS NULL OR NOT ({taken})) AS left_out",
    ).collect()[0]
    return None if row["lowest"] is None else Span(row["lowest"], row["highest"]), row["left_out"]


@contextmanager
def persisted(batch: DataFrame) -> Iterator[None]:
    """Persist the batch inside the `with` block, so that its source is read only once. At the end,
    unpersist the batch unless it was already persisted before.
    """
    level = batch.storageLevel
    ours = not level.useMemory and not level.useDisk
    if ours:
        batch.persist()
    try:
        yield
    finally:
        if ours:
            batch.unpersist()
