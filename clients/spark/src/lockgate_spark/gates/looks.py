"""A batch inside foreachBatch: its event times, in any session."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pyspark.sql import DataFrame

from lockgate_client.errors import ConfigurationError
from lockgate_spark.event_times import Credible, Span

# a type that is event time, and its SQL for ms
_MILLIS = {"timestamp": "unix_millis({})", "long": "{}"}
_TIME = "__lockgate_event_time"


class Looked(NamedTuple):
    """The event times of a batch. `span`: None where no row has a credible one; `left_out`: the
    number of rows beyond the bounds.
    """

    span: Span | None
    left_out: int


def look(batch: DataFrame, event_time: str, credible: Credible) -> Looked:
    """The event times of a batch, in one aggregate. `event_time`: SQL, a TIMESTAMP or a BIGINT of
    ms. Raises `ConfigurationError`.
    """
    times = batch.selectExpr(f"{event_time} AS {_TIME}")
    kind = times.schema[0].dataType.typeName()
    if kind not in _MILLIS:
        raise ConfigurationError(
            f"gate(event_time={event_time!r}): it is of type {kind}, and event time is a TIMESTAMP, or a BIGINT "
            "of ms since 1970"
        )
    ms = times.selectExpr(f"{_MILLIS[kind].format(_TIME)} AS ms")
    taken = f"ms BETWEEN {credible.earliest} AND {credible.latest}"
    row = ms.selectExpr(
        f"min(ms) FILTER (WHERE {taken}) AS lowest",
        f"max(ms) FILTER (WHERE {taken}) AS highest",
        f"count_if(NOT ({taken})) AS left_out",
    ).collect()[0]
    return Looked(None if row["lowest"] is None else Span(row["lowest"], row["highest"]), row["left_out"])


@contextmanager
def persisted(batch: DataFrame) -> Iterator[None]:
    """Keeps the batch, so that several passes over it read its source once. A batch that is
    persisted already is left as it is.
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
