"""The figures of a demo, as JSON and as a table, and the claims of lockgate that they break."""

import importlib.metadata
import platform
import statistics
from dataclasses import dataclass
from typing import Any

from examples.demo.acts import GROUP_DRIFT_MS, MAX_DRIFT_MS
from examples.demo.drift import peak_drift, peak_lead
from examples.demo.history import Run
from examples.demo.times import span
from pyspark.sql import SparkSession
from rich.table import Table

from lockgate_testbed.artifacts import KAFKA_VERSION
from lockgate_testbed.skew import SkewedTopic


@dataclass(frozen=True, slots=True)
class Runs:
    """Hold all runs over one topic. Plain Spark and aligned ran twice, in the order plain, aligned,
    aligned, plain.
    """

    topic: SkewedTopic
    native: tuple[Run, Run]
    aligned: tuple[Run, Run]
    fast: Run
    slow: Run


def versions(spark: SparkSession) -> dict[str, str]:
    """Return the versions of everything that influences the figures."""
    java = spark.sql("SELECT java_method('java.lang.System', 'getProperty', 'java.version')").first()
    packages = {
        name: importlib.metadata.version(name) for name in ("lockgate-spark", "lockgate-coordinator", "pyspark")
    }
    return {
        **packages,
        "kafka": KAFKA_VERSION,
        "java": str(java[0]) if java else "",
        "python": platform.python_version(),
    }


def summarize(runs: Runs, command: str, made_with: dict[str, str]) -> dict[str, Any]:
    """Return the contents of summary.json."""
    return {
        "command": command,
        "versions": made_with,
        "records": runs.topic.records,
        "max_drift_ms": MAX_DRIFT_MS,
        "plain_spark": _alone(runs.topic, runs.native),
        "aligned": _alone(runs.topic, runs.aligned),
        "two_queries": _together(runs.topic, runs.fast, runs.slow),
    }


def broken_claims(summary: dict[str, Any]) -> list[str]:
    """One line for each claim that the figures do not bear out."""
    aligned, two, records = summary["aligned"], summary["two_queries"], summary["records"]
    broken = []
    if aligned["rows_lost"]:
        broken.append(f"the aligned query lost {aligned['rows_lost']:,} of {aligned['rows_in']:,} rows")
    if two["peak_drift_ms"] > two["max_drift_ms"]:
        broken.append(
            f"a plan was {span(two['peak_drift_ms'])} ahead of the other query, and {span(two['max_drift_ms'])} "
            "are allowed"
        )
    read = {"plain Spark": summary["plain_spark"]["rows_in"], "aligned": aligned["rows_in"], **two["rows"]}
    broken += [
        f"the {name} query read {rows:,} of {records:,} records" for name, rows in read.items() if rows != records
    ]
    return broken


def table(summary: dict[str, Any]) -> Table:
    """For the terminal."""
    shown = Table(title=f"{summary['records']:,} records, 24 hours of event time", title_justify="left")
    shown.add_column("")
    for heading in ("plain Spark", "aligned", "fast + slow, one group"):
        shown.add_column(heading, justify="right")
    native, aligned, two = summary["plain_spark"], summary["aligned"], summary["two_queries"]
    for title, key in (("rows read", "rows_in"), ("rows counted", "rows_counted"), ("rows lost", "rows_lost")):
        both = " + ".join(f"{rows:,}" for rows in two["rows"].values()) if key == "rows_in" else ""
        style = "bold" if key == "rows_lost" else None
        shown.add_row(title, f"{native[key]:,}", f"{aligned[key]:,}", both, style=style)
    shown.add_row(
        "lost, as Spark reports it",
        f"{native['spark_reported_dropped']:,}",
        f"{aligned['spark_reported_dropped']:,}",
        "",
    )
    drifts = [span(part["peak_drift_ms"]) for part in (native, aligned)]
    shown.add_row("peak drift", *drifts, f"{span(two['peak_drift_ms'])} of {span(two['max_drift_ms'])}")
    seconds = " + ".join(f"{seconds:.1f}" for seconds in two["seconds"].values())
    shown.add_row(
        "seconds, mean of two runs", f"{native['seconds']:.1f}", f"{aligned['seconds']:.1f}", f"{seconds} (one run)"
    )
    shown.add_row("rows per second", f"{native['rows_per_second']:,}", f"{aligned['rows_per_second']:,}", "")
    return shown


def _alone(topic: SkewedTopic, runs: tuple[Run, Run]) -> dict[str, Any]:
    """Figures of the run that lost more, and the mean time of both."""
    run = max(runs, key=lambda one: one.rows_lost)
    seconds = statistics.fmean(one.seconds for one in runs)
    return {
        "rows_in": run.rows_in,
        "rows_counted": run.rows_counted,
        "rows_lost": run.rows_lost,
        "spark_reported_dropped": run.dropped,
        "seconds": round(seconds, 3),
        "seconds_of_each": [round(one.seconds, 3) for one in runs],
        "rows_per_second": round(run.rows_in / seconds),
        "peak_drift_ms": max(peak_drift(topic, one.batches) for one in runs),
    }


def _together(topic: SkewedTopic, fast: Run, slow: Run) -> dict[str, Any]:
    return {
        "max_drift_ms": GROUP_DRIFT_MS,
        "peak_drift_ms": max(peak_lead(topic, fast.plans, slow.batches), peak_lead(topic, slow.plans, fast.batches)),
        "seconds": {run.name: round(run.seconds, 3) for run in (fast, slow)},
        "rows": {run.name: run.rows_in for run in (fast, slow)},
    }
