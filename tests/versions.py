"""The Spark client on every line of Spark that it knows: `make test-versions`, or
`make test-versions VERSIONS="3.5 4.3"`.

Each gets a virtual environment of its own below build/versions, with that PySpark and else
what tools/constraints/dev.txt pins. It gets the Kafka connector that can be had for it, and runs
the part of the suite that leans on Spark's internals. The jar for Spark's servers is the one
that is released: made with the Spark that is pinned. Where no connector can be had, what needs none
runs instead, and the table says so. Ends with 1 when something failed.
"""

import os
import re
import subprocess
import sys
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from lockgate_testbed import server_jar

CHECKOUT = Path(__file__).resolve().parents[1]
BUILD = CHECKOUT / "build" / "versions"
RELEASES = {"3.5": "3.5.9", "4.0": "4.0.5", "4.1": "4.1.4", "4.2": "4.2.1", "4.3": "4.3.0"}
"""The lines of Spark, and the newest release of each."""

PACKAGES = ("core", "services/coordinator[dev]", "clients/http", "clients/cli", "clients/spark", "tools/testbed")
TOOLS = ("pyspark", "pytest", "pytest-asyncio", "hypothesis", "trustme", "numpy", "pandas", "pyarrow")
CONNECT = ("grpcio", "grpcio-status", "googleapis-common-protos", "zstandard")
SAMPLE = {
    "integration/test_one_query.py": ("without_a_budget", "started_twice", "larger_than_the_budget"),
    "integration/test_checkpoints.py": ("native_to_aligned_and_back", "has_lost_already", "shorter_than_the_drift"),
    "integration/test_queries_in_a_group.py": ("max_wait", "executors_report"),
    "integration/test_event_time_slices.py": ("still_open", "straggler"),
    "integration/test_torn_slices.py": ("local_days",),
    "integration/test_executors_that_report.py": ("as_the_plan_has_it",),
    "integration/test_spark_metrics.py": (),
    "integration/test_checkpoint_formats.py": (),
    "integration/test_topics_to_come.py": ("matches_nothing",),
    "integration/test_kept_late_rows.py": ("windows_drop",),
    "integration/test_late_rows_topic.py": ("once_and_in_order",),
    "integration/test_payload_time.py": ("cannot_read_or_believe", "by_its_payload_and_one_by_its_timestamps"),
    "integration/test_what_a_query_is_told.py": (
        "renamed",
        "another_column",
        "serves_one_query",
        "batch_that_is_replayed",
        "last_progress",
    ),
    "integration/test_source_shapes.py": (
        "subscribePattern",
        "startingTimestamp",
        "found_behind",
        "self_join",
        "batch_that_failed",
        "made_of_a_batch",
    ),
    "spark_server/test_over_connect.py": ("every_way_to_ask", "sees_its_plan"),
    "environments/test_jobs_anywhere.py": ("an_aligned_job_loses_no_row",),
    "spark/test_refusals.py": (),
    "spark/jvm/test_failures.py": (),
    "spark/jvm/test_members.py": (),
    "spark/jvm/test_divided_ranges.py": (),
    "spark/jvm/test_zone.py": (),
    "spark/jvm/test_deep_plans.py": (),
    "spark/logs/test_event_time.py": (),
    "spark/logs/test_kafka_log.py": (),
    "spark/logs/test_kafka_transactions.py": (),
}
"""What leans on Spark's internals: of a file the tests with one of these in their names, or all."""

NEED_THE_JAR = ("spark_server/test_over_connect.py", "environments/test_jobs_anywhere.py")
"""Of these, what runs where the jar does: from Spark 4.0 on."""

NEEDS_NO_CONNECTOR = ("tests/spark", "-m", "not kafka and not long")
CONNECTOR = "from lockgate_testbed import jars; print(*(jar.name for jar in jars.kafka_connector()))"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of the suite on one version."""

    spark: str
    connector: str | None
    passed: int
    failed: tuple[str, ...]
    left_out: tuple[str, ...]
    seconds: float


def main(lines: Sequence[str]) -> int:
    """Run the suite on each of these lines of Spark, all without any; gives the exit code."""
    unknown = [line for line in lines if line not in RELEASES]
    if unknown:
        print(
            f"VERSIONS: no such line of Spark: {', '.join(unknown)}; there are {', '.join(RELEASES)}", file=sys.stderr
        )
        return 2
    outcomes = []
    for line in lines or RELEASES:
        outcomes.append(on(RELEASES[line]))
        _tell(outcomes[-1])
    _table(outcomes)
    return 1 if any(outcome.failed for outcome in outcomes) else 0


def on(spark: str) -> Outcome:
    """The suite on one version of Spark."""
    began = time.monotonic()
    print(f"Spark {spark}: setting up …", flush=True)
    python = _environment(spark)
    found = subprocess.run([python, "-c", CONNECTOR], stdout=subprocess.PIPE, text=True, check=False)
    name = re.search(r"spark-sql-kafka-\S+?-([\d.]+)\.jar", found.stdout)
    connector = name[1] if name and not found.returncode else None
    print(f"Spark {spark}: {_said(spark, connector)}; running …", flush=True)
    report, log = BUILD / f"{spark}.xml", BUILD / f"{spark}.log"
    report.unlink(missing_ok=True)
    with_jar = not spark.startswith("3.")
    jar = {server_jar.MADE: str(server_jar.server_jar(BUILD))} if with_jar else {}
    chosen = NEEDS_NO_CONNECTOR if connector is None else _sample(with_jar)
    with log.open("w") as out:
        subprocess.run(
            [python, "-m", "pytest", f"--junitxml={report}", *chosen],
            cwd=CHECKOUT,
            stdout=out,
            stderr=out,
            env={**os.environ, **jar},
            check=False,
        )
    return _read(spark, connector, report, time.monotonic() - began)


def _sample(with_jar: bool) -> tuple[str, ...]:
    files = {file: some for file, some in SAMPLE.items() if with_jar or file not in NEED_THE_JAR}
    words = [file.rpartition("/")[2] + (f" and ({' or '.join(some)})" if some else "") for file, some in files.items()]
    return (*(f"tests/{file}" for file in files), "-k", " or ".join(f"({word})" for word in words), "-m", "not long")


def _said(spark: str, connector: str | None) -> str:
    if connector is None:
        return "its Kafka connector cannot be had here, so what needs none"
    return (
        "with its own Kafka connector"
        if connector == spark
        else f"with the Kafka connector of {connector}, for its own cannot be had here"
    )


def _environment(spark: str) -> Path:
    """The Python of a virtual environment with this Spark, made once."""
    folder = BUILD / f"spark-{spark}"
    python, ready, constraints = folder / "bin" / "python", folder / ".ready", BUILD / f"{spark}.txt"
    pins = _constraints(spark)
    made_of = f"{pins}{' '.join((*PACKAGES, *TOOLS, *CONNECT))}\n"
    if not ready.is_file() or ready.read_text() != made_of:
        venv.create(folder, clear=True, with_pip=True)
        constraints.write_text(pins)
        editable = [argument for package in PACKAGES for argument in ("-e", package)]
        command = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-c",
            constraints,
            *editable,
            *TOOLS,
            *CONNECT,
        ]
        subprocess.run(command, cwd=CHECKOUT, check=True)
        ready.write_text(made_of)
    return python


def _constraints(spark: str) -> str:
    """Return the usual pins with this PySpark, which says itself which py4j it needs."""
    lines = (CHECKOUT / "tools" / "constraints" / "dev.txt").read_text().splitlines()
    return "\n".join(
        [*(line for line in lines if not line.startswith(("pyspark==", "py4j=="))), f"pyspark=={spark}", ""]
    )


def _read(spark: str, connector: str | None, report: Path, seconds: float) -> Outcome:
    if not report.is_file():
        return Outcome(spark, connector, 0, ("pytest itself",), (), seconds)
    passed, failed, left_out = 0, [], []
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
        elif (skipped := case.find("skipped")) is not None:
            left_out.append(f"{name}: {skipped.get('message')}")
        else:
            passed += 1
    return Outcome(spark, connector, passed, tuple(failed), tuple(left_out), seconds)


def _tell(outcome: Outcome) -> None:
    print(
        f"Spark {outcome.spark}: {outcome.passed} passed, {len(outcome.failed)} failed, {len(outcome.left_out)} "
        "left out,"
        f" {outcome.seconds:.0f} s; {BUILD.relative_to(CHECKOUT)}/{outcome.spark}.log",
        flush=True,
    )
    for name in outcome.failed:
        print(f"  failed: {name}", flush=True)
    for name in outcome.left_out:
        print(f"  left out: {name}", flush=True)


def _table(outcomes: Sequence[Outcome]) -> None:
    print(f"\n{'Spark':8}{'connector':12}{'passed':>8}{'failed':>8}{'left out':>10}")
    for one in outcomes:
        print(f"{one.spark:8}{one.connector or 'none':12}{one.passed:>8}{len(one.failed):>8}{len(one.left_out):>10}")


if __name__ == "__main__":
    BUILD.mkdir(parents=True, exist_ok=True)
    sys.exit(main(sys.argv[1:]))
