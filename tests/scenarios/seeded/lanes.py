"""One lane: a scenario's query over all its runs on one checkpoint, native or aligned, with an
account of what each batch gave.
"""

import json
import re
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from lockgate_spark import alignment_of, slice_of, status
from seeded import checkpoints
from seeded.clocks import Clocks
from seeded.figures import figures_of
from seeded.played import AVAILABLE_NOW, Batch, BatchWindows, Figures, Look, Run, Split
from seeded.played import Lane as Told
from seeded.queries import result
from seeded.scenario import Query, Start

PATIENCE_S = 240.0  # a run that is to end by itself, on a machine that does other things
LOOKS_EACH_S = 0.1
PLAN_TAKES_MS = 500.0  # a batch that is logged was planned so long before, where nobody tells


class AsAsked(Exception):
    """The error of a sink that is to fail."""


class Lane:
    """`brokers`: the address of each cluster. `prefix`: before the names of topics. `aligns`:
    whether acts may have it aligned.
    """

    def __init__(
        self,
        spark: SparkSession,
        query: Query,
        brokers: Callable[[int], str],
        prefix: str,
        folder: Path,
        *,
        clocks: Clocks,
        aligns: bool,
    ) -> None:
        self._spark, self._query, self._brokers, self._prefix = spark, query, brokers, prefix
        self._checkpoint, self._clocks, self._aligns = folder, clocks, aligns
        self._reports = folder.with_name(f"{folder.name}-reports")
        self._rows: dict[int, tuple[float, tuple[tuple[object, ...], ...]]] = {}
        self._planned: dict[int, float] = {}
        self._slices: dict[int, BatchWindows] = {}
        self._runs: list[Run] = []
        self._looks: list[Look] = []
        self._figures: list[Figures] = []
        self._running: StreamingQuery | None = None
        self._begun: tuple[float, int, bool, bool] | None = None
        # in which batch, and whether it has written by then
        self._fails: tuple[int, bool] | None = None
        self._parsed: dict[int, checkpoints.Logged] = {}
        self._never = threading.Event()
        self.failure: str | None = None

    def start(self, act: Start) -> None:
        """Begins a run; an error is kept."""
        aligned = self._aligns and act.aligned
        first = checkpoints.next_number(self._checkpoint)
        plans = aligned and not self._query.observes
        self._begun = (self._clocks.now(), first, plans, act.interval_ms is None)
        self._fails = None if act.fails_in is None else (first + act.fails_in - 1, act.wrote)

        def begin() -> None:
            frame, mode = result(
                self._spark, self._query, self._brokers, self._prefix, self._alignment() if aligned else None
            )
            writer = (
                frame.writeStream.outputMode(mode)
                .foreachBatch(self._take)
                .option("checkpointLocation", str(self._checkpoint))
            )
            every = (
                {"availableNow": True}
                if act.interval_ms is None
                else {"processingTime": f"{act.interval_ms} milliseconds"}
            )
            self._running = writer.trigger(**every).start()  # type: ignore[arg-type]

        self._kept(begin)
        if act.interval_ms is not None:
            # What comes from here on comes while the query runs: its sources know where they begin.
            self.wait(self._has_begun, PATIENCE_S)
            self._begun = (self._clocks.now(), *self._begun[1:])

    def _alignment(self) -> dict[str, Any]:
        """With a folder of its own for the report of each run in mode observe."""
        own = {"report": str(self._reports / str(len(self._runs)))} if self._query.observes else {}
        return {**self._query.alignment, **own}

    def _has_begun(self) -> bool:
        begun = (self._checkpoint / "sources").exists() and "nitializing" not in str(
            self._running and self._running.status["message"]
        )
        return begun or not self.alive

    def finish(self, reads_all: bool) -> None:
        """Until the run has ended by itself."""
        query, begun = self._running, self._begun
        if query is None or begun is None:
            return

        def end() -> None:
            if not query.awaitTermination(PATIENCE_S):
                raise TimeoutError(f"a run under availableNow still ran after {PATIENCE_S:g} s")

        self._kept(end)
        if reads_all:
            self._looks.append(Look(AVAILABLE_NOW, begun[0], self._clocks.now()))
        self.stop()

    def process_all(self, reads_all: bool) -> None:
        """`processAllAvailable()`."""
        query, began = self._running, self._clocks.now()
        if query is None:
            return
        self._kept(query.processAllAvailable)
        if reads_all and self.failure is None:
            self._looks.append(Look("processAllAvailable()", began, self._clocks.now()))

    def settle(self, read: Callable[["Lane"], bool], within_s: float, reads_all: bool = False) -> None:
        """Until `read`, for so long at most."""
        began = self._clocks.now()
        self.wait(lambda: read(self), within_s)
        if reads_all:
            self._looks.append(Look("a live run", began, self._clocks.now()))

    def wait(self, fulfilled: Callable[[], bool], within_s: float) -> bool:
        """Until then, or until the run is over; whether it is fulfilled. Looks again and again, for
        the condition is in Spark.
        """
        gives_up = time.monotonic() + within_s
        while not (found := fulfilled()) and self.alive and time.monotonic() < gives_up:
            self._never.wait(LOOKS_EACH_S)
        return found

    def has_batches(self, count: int) -> bool:
        """Whether this run has committed so many."""
        return self._begun is not None and checkpoints.next_number(self._checkpoint) >= self._begun[1] + count

    def stop(self, killed: bool = False) -> None:
        """Ends the run, if there is one. `killed`: as in the act."""
        query, begun = self._running, self._begun
        if begun is None:
            return
        if query is not None:
            kept, before = self._checkpoint / "lockgate", self._checkpoint.with_name(f"{self._checkpoint.name}-before")
            if killed and kept.exists():
                shutil.copytree(kept, before, dirs_exist_ok=True)
            # a batch that is amid comes to no progress report
            view = status(query).view if self._aligns else None
            self._kept(query.stop)
            if killed and kept.exists():
                shutil.rmtree(kept)
                shutil.move(before, kept)
            if self._aligns and begun[2] | self._query.observes:
                progress = [json.loads(each.json) for each in query.recentProgress]
                found = figures_of(progress, self._reports / str(len(self._runs)), self._split)
                too_late = max(found.too_late, 0 if view is None else view.rows_too_late)
                self._figures.append(replace(found, too_late=too_late))
            error = query.exception()
            if (
                error is not None
                and self.failure is None
                and not (self._fails is not None and AsAsked.__name__ in str(error))
            ):
                self.failure = _short(error)
        self._runs.append(Run(begun[0], self._clocks.now(), *begun[1:]))
        self._running = self._begun = None

    @property
    def alive(self) -> bool:
        """Whether a run goes on."""
        return self._running is not None and self._running.isActive

    @property
    def ends(self) -> dict[Split, int]:
        """Where the batches that were committed so far have got to."""
        ends: dict[Split, int] = {}
        for batch in checkpoints.logged(self._checkpoint, self._split, self._parsed):
            ends |= batch.ends
        return ends

    def told(self) -> Told:
        """All of it, once it has ended."""
        logged = checkpoints.logged(self._checkpoint, self._split, {})
        nothing = (0.0, ())
        batches = tuple(
            Batch(
                each.number,
                self._planned.get(each.number, self._clocks.of(each.logged_at) - PLAN_TAKES_MS),
                self._rows.get(each.number, nothing)[0] or self._clocks.of(each.logged_at),
                each.watermark,
                each.ends,
                self._rows.get(each.number, nothing)[1],
            )
            for each in logged
        )
        committed = {batch.number for batch in batches}
        slices = tuple(made for number, made in sorted(self._slices.items()) if number in committed)
        begins = checkpoints.begins(self._checkpoint, self._split)
        looks, figures = tuple(self._looks), tuple(self._figures)
        return Told(batches, tuple(self._runs), begins, looks, slices, figures, self.failure)

    def _take(self, batch: DataFrame, number: int) -> None:
        if self._fails == (number, False):
            raise AsAsked(f"batch {number} is to fail before it is written")
        self._write(batch, number)
        if self._fails == (number, True):
            raise AsAsked(f"batch {number} is to fail when it has been written")

    def _write(self, batch: DataFrame, number: int) -> None:
        if (plan := alignment_of(batch)) is not None and self._clocks.driver_is_right:
            self._planned[number] = (plan.planned_at - plan.seconds) * 1000
        for _ in range(1, self._query.actions):
            batch.count()
        rows = tuple(tuple(row) for row in batch.drop("at").collect())
        if self._query.slice_ms is not None and (made := slice_of(batch)) is not None:
            own = tuple(row[0] for row in made.rows(batch, "at").select("n").collect())
            self._slices[number] = BatchWindows(number, made.start, made.end, made.complete, own)
        self._rows[number] = self._clocks.now(), rows  # a batch that is tried again replaces itself

    def _split(self, source: int, topic: str, partition: str) -> Split:
        cluster = self._query.sources[source].cluster
        return Split(topic.removeprefix(f"{self._prefix}-") + (f"@{cluster}" if cluster else ""), int(partition))

    def _kept(self, call: Callable[[], object]) -> None:
        try:
            call()
        except Exception as error:
            if self.failure is None and not (self._fails is not None and AsAsked.__name__ in str(error)):
                self.failure = _short(error)


def in_both(lanes: list[Lane], call: Callable[[Lane], object]) -> None:
    """Both at the same time: the native lane is not to wait for the aligned one."""
    threads = [threading.Thread(target=call, args=(lane,), daemon=True) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _short(error: BaseException) -> str:
    """The most telling part of an error: the innermost one with a name, be it Python's own below
    Java's below Python's.
    """
    named = re.findall(r"\w*(?:Error|Exception): [^\n]+", str(error))
    return (named[-1] if named else " ".join(str(error).split()))[:300]
