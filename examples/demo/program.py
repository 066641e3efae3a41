"""The demo from beginning to end: starts servers, plays its acts, prints and writes figures."""

import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from examples.demo import acts
from examples.demo.report import render
from examples.demo.signals import Signals
from examples.demo.spark import running_spark
from examples.demo.summary import Runs, broken_claims, summarize, table, versions
from rich.console import Console

from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.errors import TestbedError
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.progress import progress_bar
from lockgate_testbed.skew import SkewedTopic


def demo(records: int, store: str, out: Path, command: str, signals: Signals, *, dashboard: bool = False) -> int:
    """Run it, and give the exit code. `store`: the coordinator's. `out`: the folder of summary.json
    and report.html. `dashboard`: the coordinator stays in the end, until a signal.
    """
    console = Console()
    topic = SkewedTopic("orders", records=records, empty=True, late_start_hours=6.0)
    with ExitStack() as staying:
        try:
            coordinator = staying.enter_context(CoordinatorProcess(store=store))
            runs, made_with = _play(topic, coordinator.url, signals, console, keep_group=dashboard)
        except TestbedError as error:
            print(error, file=sys.stderr)
            return 1
        signals.check()
        code = _tell(runs, made_with, out, command, console)
        if not dashboard:
            console.print("to look at such a group live, in a browser: make demo ARGS=--dashboard", highlight=False)
            return code
        console.print(f"the dashboard stays at {coordinator.url}/ until Ctrl-C", highlight=False, soft_wrap=True)
        signals.wait()
        return code


def _tell(runs: Runs, made_with: dict[str, str], out: Path, command: str, console: Console) -> int:
    """Write and print the results, and return the exit code."""
    summary = summarize(runs, command, made_with)
    _write(out, summary, runs)
    console.print("", table(summary), f"{out / 'summary.json'}, {out / 'report.html'}", sep="\n", highlight=False)
    broken = broken_claims(summary)
    for claim in broken:
        print(f"does not hold: {claim}", file=sys.stderr)
    return 1 if broken else 0


def _play(
    topic: SkewedTopic, url: str, signals: Signals, console: Console, *, keep_group: bool
) -> tuple[Runs, dict[str, str]]:
    with ExitStack() as started:
        console.print("starting Kafka")
        broker = started.enter_context(KafkaBroker())
        with progress_bar("loading records", topic.records) as told:
            topics.load(broker.bootstrap, topic, told)
        checkpoints = Path(started.enter_context(tempfile.TemporaryDirectory(prefix="lockgate-demo-")))
        console.print("starting Spark, and warming it up")
        spark = started.enter_context(running_spark(signals))
        stage = acts.Stage(spark, broker.bootstrap, topic, checkpoints, console, signals.check)
        acts.warm_up(stage)
        runs = Runs(topic, *acts.native_and_aligned(stage), *acts.two_queries(stage, url, keep_group=keep_group))
        return runs, versions(spark)


def _write(out: Path, summary: dict[str, Any], runs: Runs) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    (out / "report.html").write_text(render(runs, summary), encoding="utf-8")
