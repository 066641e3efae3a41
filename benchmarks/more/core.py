"""Speed of the theory: whole columns through watermark generators, and single updates of valve
and multiplexer.

    make bench-core
    python -m benchmarks.more.core [--events 200000000] [--json]

Columns: bounded out-of-orderness over 8 splits in batches of 100,000 rows, a watermark every 200 ms
of arrival time. Rows arrive at `--rate` a second, so that a watermark falls due within most
batches. "Interleaved": the rows of one batch come from all splits, in a mix; "in turn": each batch
is one split's. The bar is 50 million events a second on one core.

Updates: one watermark on one of n channels (outputs, keys), in a random order, so that now and then
the minimum moves. The cost must grow no faster than log n: from 10 to 100,000 channels log n grows
fivefold.
"""

import argparse
import json
import math
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lockgate.duration import Duration
from lockgate.flink.elements import LatencyMarker, Record, RecordAttributes, WatermarkStatus
from lockgate.flink.multiplexer import WatermarkOutputMultiplexer
from lockgate.flink.split_columns import SplitColumns
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.flink.valve import StatusWatermarkValve

SPLITS, BATCH, INTERVAL_MS, BAR = 8, 100_000, 200, 50_000_000
SIZES = (10, 1_000, 100_000)
Batch = tuple["NDArray[np.uint8]", "NDArray[np.int64]", "NDArray[np.int64]"]


class Counted:
    """Counts the output."""

    def __init__(self) -> None:
        self.watermarks = 0

    def emit_watermark(self, timestamp: int) -> None:
        self.watermarks += 1

    def emit_record(self, record: Record) -> None: ...

    def emit_status(self, status: WatermarkStatus) -> None: ...

    def emit_latency_marker(self, marker: LatencyMarker) -> None: ...

    def emit_record_attributes(self, attributes: RecordAttributes) -> None: ...

    def mark_idle(self) -> None: ...

    def mark_active(self) -> None: ...


@dataclass(frozen=True)
class Columns:
    """Events a second through columns, and the watermarks that came out."""

    layout: str
    events: int
    watermarks: int
    events_per_second: float


@dataclass(frozen=True)
class Update:
    """The cost of one update with so many channels, and its growth from the fewest, beside the
    growth of log n.
    """

    component: str
    channels: int
    nanoseconds: float
    grown: float
    log_grown: float


def batches(layout: str, rate: int, rounds: int) -> list[Batch]:
    """Return some batches: event times up to 2 s out of order, arrivals at `rate` a second."""
    random_numbers = np.random.default_rng(7)
    made = []
    for number in range(rounds):
        row = np.arange(number * BATCH, (number + 1) * BATCH, dtype=np.int64)
        arrivals = row * 1_000 // rate
        times = arrivals - random_numbers.integers(0, 2_000, BATCH)
        mix = random_numbers.integers(0, SPLITS, BATCH, dtype=np.uint8)
        splits = mix if layout == "interleaved" else np.full(BATCH, number % SPLITS, dtype=np.uint8)
        made.append((splits, times, arrivals))
    return made


def columns(layout: str, events: int, rate: int) -> Columns:
    """Feed the same rows again and again, later each time, so that making them is not measured."""
    rounds = batches(layout, rate, 64)
    lasts_ms = len(rounds) * BATCH * 1_000 // rate
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of(seconds=2))
    out = Counted()
    source = SplitColumns(
        [f"topic-{split}" for split in range(SPLITS)], strategy, out, start_ms=0, interval_ms=INTERVAL_MS
    )
    fed, spent = 0, 0.0
    while fed < events:
        shift = fed // (len(rounds) * BATCH) * lasts_ms
        shifted = [(splits, times + shift, arrivals + shift) for splits, times, arrivals in rounds]
        start = time.perf_counter()
        for batch in shifted:
            source.take(*batch)
        spent += time.perf_counter() - start
        fed += len(rounds) * BATCH
    return Columns(layout, fed, out.watermarks, fed / spent)


def valve(channels: int) -> Callable[[int, int], object]:
    """Update one channel of a valve."""
    return StatusWatermarkValve(channels, Counted()).input_watermark


def multiplexer(channels: int) -> Callable[[int, int], object]:
    """Update one output of a multiplexer at once."""
    made = WatermarkOutputMultiplexer(Counted())
    for name in range(channels):
        made.register(str(name))
    emit = [made.immediate(str(name)).emit_watermark for name in range(channels)]
    return lambda channel, timestamp: emit[channel](timestamp)


COMPONENTS = {"valve": valve, "multiplexer": multiplexer}


def updates(component: str, count: int) -> list[Update]:
    """Every size in turn. All channels have spoken once before the clock runs; then they advance in
    a random order.
    """
    measured: list[Update] = []
    for channels in SIZES:
        update = COMPONENTS[component](channels)
        for channel in range(channels):
            update(channel, channel % 100)
        order = random.Random(7).choices(range(channels), k=count)
        start = time.perf_counter()
        for step, channel in enumerate(order):
            update(channel, 100 + step)
        nanoseconds = (time.perf_counter() - start) / count * 1e9
        fewest = measured[0] if measured else None
        grown = nanoseconds / fewest.nanoseconds if fewest else 1.0
        measured.append(Update(component, channels, nanoseconds, grown, math.log(channels) / math.log(SIZES[0])))
    return measured


def main() -> int:
    """0 if every bar is met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=200_000_000, help="rows to feed to the columns")
    parser.add_argument("--rate", type=int, default=2_000_000, help="rows that arrive a second of virtual time")
    parser.add_argument("--updates", type=int, default=400_000, help="single updates a size")
    parser.add_argument("--json", action="store_true", help="figures as JSON, one line")
    chosen = parser.parse_args()
    whole = [columns(layout, chosen.events, chosen.rate) for layout in ("interleaved", "in turn")]
    single = [update for component in COMPONENTS for update in updates(component, chosen.updates)]
    if chosen.json:
        print(json.dumps({"columns": [vars(each) for each in whole], "updates": [vars(each) for each in single]}))
    else:
        report(whole, single)
    return int(
        any(each.events_per_second < BAR for each in whole) or any(each.grown > each.log_grown for each in single)
    )


def report(whole: list[Columns], single: list[Update]) -> None:
    """Return the figures as text for people."""
    print(
        f"bounded out-of-orderness, {SPLITS} splits, batches of {BATCH:,}, a watermark every {INTERVAL_MS} ms "
        f"(bar: {BAR / 1e6:.0f} M/s)"
    )
    for each in whole:
        print(
            f"  {each.layout:<12}{each.events_per_second / 1e6:8.1f} M events/s   {each.events:,} events, "
            f"{each.watermarks:,} watermarks"
        )
    print("\none update, in ns, and how it grew from 10 channels (bar: log n)")
    for update in single:
        bar = f"×{update.grown:.2f} (log n: ×{update.log_grown:.2f})"
        print(f"  {update.component:<12}{update.channels:>8,} channels{update.nanoseconds:9.0f} ns   {bar}")


if __name__ == "__main__":
    sys.exit(main())
