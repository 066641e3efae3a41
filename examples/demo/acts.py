"""The three acts: plain Spark, aligned, and two queries kept aligned through a coordinator."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
from examples.demo.history import Run
from examples.demo.queries import WindowedCount
from examples.demo.times import clock
from pyspark.sql import SparkSession
from rich.console import Console

from lockgate_spark import Alignment, BatchAlignment, Coordinator
from lockgate_testbed import topics
from lockgate_testbed.skew import SkewedTopic

MAX_DRIFT = "10 minutes"
MAX_DRIFT_MS = 600_000
GROUP_DRIFT = "1 hour"
GROUP_DRIFT_MS = 3_600_000
WARM_UP = 0.1  # of the records
BATCHES_OF_SLOW = 50  # at least; of the slow query in the third act


@dataclass(frozen=True, slots=True)
class Stage:
    """The base of the acts. `check` is called often, and raises when the demo is to end."""

    spark: SparkSession
    bootstrap: str
    topic: SkewedTopic
    checkpoints: Path
    console: Console
    check: Callable[[], None]

    @property
    def budget(self) -> int:
        """Records a batch, a tenth of all."""
        return max(1, self.topic.records // 10)

    def count(self, name: str, alignment: Alignment | None = None) -> Run:
        """Run the windowed count alone, and give its outcome."""
        (run,) = self.play(WindowedCount(name, budget=self.budget, alignment=alignment))
        lost = f"{run.rows_lost:,} lost" if run.rows_lost else "none lost"
        self.console.print(
            f"  {name}: {run.rows_in:,} rows in {len(run.batches)} batches, {run.seconds:.1f} s; {lost}",
            highlight=False,
        )
        return run

    def play(self, *queries: WindowedCount) -> list[Run]:
        """Run queries at the same time, each to its end."""
        for query in queries:
            query.start(self.spark, self.bootstrap, self.topic.name, self.checkpoints)
        waiting = list(queries)
        while waiting:
            self.check()
            waiting = [query for query in waiting if not query.ended()]
        return [query.run() for query in queries]


def warm_up(stage: Stage) -> None:
    """Both ways of reading once, unmeasured: the first query of a JVM pays for loading and
    compiling code, the ones after it do not.
    """
    topic = replace(stage.topic, name="warm-up", records=max(1, int(stage.topic.records * WARM_UP)))
    topics.load(stage.bootstrap, topic)
    small = replace(stage, topic=topic)
    small.play(WindowedCount("warm-up-plain", budget=small.budget))
    small.play(WindowedCount("warm-up-aligned", budget=small.budget, alignment=Alignment(max_drift=MAX_DRIFT)))


def native_and_aligned(stage: Stage) -> tuple[tuple[Run, Run], tuple[Run, Run]]:
    """Spark as it is, the same query with one line more, and both again the other way round:
    whichever comes later finds a warmer JVM.
    """
    say, alignment = stage.console.print, Alignment(max_drift=MAX_DRIFT)
    say(
        "\n[bold]Act 1, plain Spark[/]: Spark shares a batch's budget by backlog, whatever the event time",
        soft_wrap=True,
    )
    native = stage.count("plain-spark")
    say(
        "[bold]Act 2, aligned[/]: the same query on align(df): every batch reads all partitions up to one event time",
        soft_wrap=True,
    )
    aligned = stage.count("aligned", alignment)
    say("[bold]Acts 2 and 1 again[/], for the time they take", soft_wrap=True)
    aligned_again = stage.count("aligned-again", alignment)
    return (native, stage.count("plain-spark-again")), (aligned, aligned_again)


def two_queries(stage: Stage, url: str, *, keep_group: bool) -> tuple[Run, Run]:
    """One fast, one slow, in one group: neither plans further than the drift ahead of the other.
    `keep_group`: its history stays with the coordinator.
    """
    group = f"demo-{uuid.uuid4().hex[:8]}"  # its own: a Redis may remember the last demo's
    stage.console.print(
        f"[bold]Act 3, two queries[/] in one group: the fast one may be {GROUP_DRIFT} ahead of the slow one",
        soft_wrap=True,
    )
    stage.console.print(f"  live in a browser: {url}/#/groups/{group}", highlight=False, soft_wrap=True)
    # As an operator would: the group is made before its queries, and says whom to wait for, so that
    # none runs ahead at the start.
    config = {"max_drift_ms": GROUP_DRIFT_MS, "catch_up": "strict", "expected_sources": ["fast", "slow"]}
    httpx.put(f"{url}/v1/groups/{group}", json=config).raise_for_status()
    alignment = Alignment(max_drift=GROUP_DRIFT, coordinator=Coordinator(url, group=group, catch_up="strict"))
    fast = WindowedCount(
        "fast", budget=stage.budget, delay=GROUP_DRIFT, alignment=alignment, told=Pauses(stage.console)
    )
    slow = WindowedCount(
        "slow", budget=max(1, stage.topic.records // BATCHES_OF_SLOW), delay=GROUP_DRIFT, alignment=alignment
    )
    runs = stage.play(fast, slow)
    if not keep_group:
        httpx.delete(f"{url}/v1/groups/{group}").raise_for_status()
    for run in runs:
        stage.console.print(
            f"  {run.name}: {run.rows_in:,} rows in {len(run.batches)} batches, {run.seconds:.1f} s", highlight=False
        )
    return runs[0], runs[1]


class Pauses:
    """Prints when the fast query's splits are paused and resumed: the first times, then now and
    then.
    """

    def __init__(self, console: Console, first: int = 3, every: int = 8) -> None:
        self._console, self._first, self._every = console, first, every
        self._seen = 0

    def __call__(self, plan: BatchAlignment) -> None:
        """Receives the plan of each batch."""
        if not plan.paused and not plan.resumed:
            return
        self._seen += 1
        if self._seen <= self._first or self._seen % self._every == 0:
            resumed = f"{len(plan.resumed)} partitions resumed, " if plan.resumed else ""
            holders = ", ".join(f"{holder.source} is at {clock(holder.watermark)}" for holder in plan.blocked_by)
            paused = (
                f"{len(plan.paused)} paused at {clock(plan.target)}; {holders}"
                if plan.paused
                else "none is paused any more"
            )
            self._console.print(f"  fast: {resumed}{paused}", highlight=False, soft_wrap=True)
