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


def demo(records: int, store: str, out: Path, command: str, signals: Signals) -> int:
    """Run it, and give the exit code. `store`: the coordinator's. `out`: the folder of summary.json
    and report.html.
    """
    console = Console()
    topic = SkewedTopic("orders", records=records, empty=True, late_start_hours=6.0)
    try:
        runs, made_with = _play(topic, store, signals, console)
    except TestbedError as error:
        print(error, file=sys.stderr)
        return 1
    signals.check()
    summary = summarize(runs, command, made_with)
    _write(out, summary, runs)
    console.print("", table(summary), f"{out / 'summary.json'}, {out / 'report.html'}", sep="\n", highlight=False)
    broken = broken_claims(summary)
    for claim in broken:
        print(f"does not hold: {claim}", file=sys.stderr)
    return 1 if broken else 0


def _play(topic: SkewedTopic, store: str, signals: Signals, console: Console) -> tuple[Runs, dict[str, str]]:
    with ExitStack() as started:
        console.print("starting Kafka and the coordinator")
        broker = started.enter_context(KafkaBroker())
        coordinator = started.enter_context(CoordinatorProcess(store=store))
        with progress_bar("loading records", topic.records) as told:
            topics.load(broker.bootstrap, topic, told)
        checkpoints = Path(started.enter_context(tempfile.TemporaryDirectory(prefix="lockgate-demo-")))
        console.print("starting Spark, and warming it up")
        spark = started.enter_context(running_spark(signals))
        stage = acts.Stage(spark, broker.bootstrap, topic, checkpoints, console, signals.check)
        acts.warm_up(stage)
        runs = Runs(topic, *acts.native_and_aligned(stage), *acts.two_queries(stage, coordinator.url))
        return runs, versions(spark)


def _write(out: Path, summary: dict[str, Any], runs: Runs) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    (out / "report.html").write_text(render(runs, summary), encoding="utf-8")
