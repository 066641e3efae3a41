"""The public function `gate`, which makes each batch wait until the query's group allows it."""

from dataclasses import replace

from pyspark.sql import SparkSession

from lockgate_http.errors import ConfigurationError
from lockgate_http.group.joining import check_coordinator
from lockgate_spark.conf import configured, enabled
from lockgate_spark.config import Alignment, check_alignment
from lockgate_spark.gates.foreach_batch import GatedFunction, ObservedFunction, Work
from lockgate_spark.joining import agreement_of, warn_of_gate
from lockgate_spark.jvm.inspection import check_spark
from lockgate_spark.spark_lines import settings_of


def gate(fn: Work, event_time: str | None = None, alignment: Alignment | None = None) -> Work:
    """Wrap `fn` for `foreachBatch`, so that each batch waits for the group before `fn` runs.

    A batch waits until the group's read limit reaches the lowest event time of the batch. This
    works with any source. The batch is persisted until `fn` returns, because the gate and `fn` both
    read it.

    Examples:
        >>> group = Coordinator("http://coordinator:8080", group="checkout")
        >>> gated = lockgate_spark.gate(store, "placed_at", Alignment(coordinator=group))
        >>> query = files.writeStream.foreachBatch(gated).start()

    Args:
        fn: Your function, called with (batch, batch_id).
        event_time: Spark SQL expression over the batch's columns that gives a TIMESTAMP or a BIGINT
            of ms since 1970. It can also be set as `Alignment(event_time=…)`.
        alignment: The settings, including the `coordinator`.

    Raises:
        ConfigurationError: A setting is missing or invalid.
        UnsupportedQuery: The session's Spark version is not supported.
        CoordinatorRefused: The coordinator rejects the group's settings or the token.

    """
    check_alignment(alignment, "gate(fn, event_time")
    if not callable(fn):
        raise ConfigurationError(f"gate(fn={fn!r}): expected a function of (batch, batch_id); write gate(store, …)")
    spark = SparkSession.active()
    if not enabled(spark.conf):
        return fn
    check_spark(spark)
    alignment = configured(_checked(event_time, alignment or Alignment()), settings_of(spark))
    if alignment.event_time is None:
        raise ConfigurationError('gate(event_time): not set; expected a Spark SQL expression, such as "ts"')
    if alignment.coordinator is None:
        raise ConfigurationError(
            'gate(alignment): it has no Coordinator; expected Alignment(coordinator=Coordinator("http://HOST:PORT", '
            "group=…)), or spark.lockgate.coordinator.url and .group"
        )
    warn_of_gate(alignment)
    if alignment.mode == "observe":
        return ObservedFunction(fn, alignment, alignment.event_time)
    check_coordinator(alignment.coordinator, agreement_of(alignment))
    return GatedFunction(fn, alignment, alignment.event_time)


def _checked(event_time: str | None, alignment: Alignment) -> Alignment:
    """Return the alignment with `event_time`, if it is given. Refuse options that need a plan."""
    for name, without in (("slice", None), ("late_rows", "ignore")):
        if (value := getattr(alignment, name)) not in (None, without):
            raise ConfigurationError(f"Alignment({name}={value!r}): a gate only makes batches wait; leave {name} out")
    if event_time is None:
        return alignment
    if alignment.event_time not in (None, event_time):
        raise ConfigurationError(f"gate(event_time={event_time!r}), Alignment(event_time=…): set one of them")
    return replace(alignment, event_time=event_time)
