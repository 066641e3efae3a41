"""Registers a query's gauges in Spark's metrics system, switched as Spark's own are."""

import logging
from contextlib import suppress
from typing import Any

from lockgate_spark.jvm.compiler import new_java
from lockgate_spark.jvm.query import QueryRun
from lockgate_spark.telemetry.progress_metrics import Gauges, Values

log = logging.getLogger("lockgate")

_SWITCH = "spark.sql.streaming.metricsEnabled"


def metrics_system(jvm: Any) -> Any:
    # Method handles, since py4j resolves all methods of a class before it calls one. Some methods
    # of SparkEnv name classes that are not in PySpark 4.3.
    load, handles = jvm.java.lang.Class.forName, jvm.java.lang.invoke.MethodHandles
    typed, lookup = jvm.java.lang.invoke.MethodType.methodType, handles.publicLookup()
    env, system = load("org.apache.spark.SparkEnv"), load("org.apache.spark.metrics.MetricsSystem")
    get, of_env = lookup.findStatic(env, "get", typed(env)), lookup.findVirtual(env, "metricsSystem", typed(system))
    return handles.filterReturnValue(get, of_env).invokeWithArguments(jvm.java.util.ArrayList())


class SparkGauges:
    """The gauges of one run. If the metrics system rejects them, a warning is logged."""

    def __init__(self, run: QueryRun, jvm: Any) -> None:
        self._run, self._refused = run, False
        self._system = metrics_system(jvm)
        # Spark removes all sources whose names begin with this one's. The ending keeps the sources
        # of other queries, whose names may begin with this query's name.
        name = f"lockgate.{run.name or run.query_id}.alignment"
        self._source = new_java(jvm, self._system, "lockgate_spark.jvm", "AlignmentGauges", name)
        self._system.registerSource(self._source)

    def show(self, values: Values) -> None:
        try:
            self._source.show("\n".join(f"{name}\t{'' if value is None else value}" for name, value in values.items()))
        except Exception as error:
            # in a run that is not active, `query.stop()` has interrupted the calls into the JVM
            if not self._refused and self._run.is_active():
                self._refused = True
                said = "Spark's metrics system rejected lockgate's gauges, and the query continues without them: %s"
                log.warning(said, error)

    def close(self) -> None:
        with suppress(Exception):  # the JVM may have ended
            self._system.removeSource(self._source)


def gauges_of(run: QueryRun) -> Gauges | None:
    """Register the gauges of a run; return None if they are off or cannot be reached."""
    try:
        return SparkGauges(run, run.jvm) if run.conf(_SWITCH).lower() == "true" else None
    except Exception as error:
        log.warning("cannot register lockgate's gauges in Spark's metrics system: %s", error)
        return None
