"""Speed of single updates of valve and multiplexer.

    make bench-core
    python -m benchmarks.more.core [--updates 400000] [--json]

One update is a watermark on one of n channels (outputs, keys), in a random order, so that now and
then the minimum moves. The cost must grow no faster than log n: from 10 to 100,000 channels log n
grows fivefold.
"""

import argparse
import json
import math
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from lockgate.flink.elements import StreamElement
from lockgate.flink.multiplexer import WatermarkOutputMultiplexer
from lockgate.flink.valve import StatusWatermarkValve

SIZES = (10, 1_000, 100_000)


class Unread:
    """Takes the output."""

    def emit(self, element: StreamElement) -> None: ...

    def emit_watermark(self, timestamp: int) -> None: ...

    def mark_idle(self) -> None: ...

    def mark_active(self) -> None: ...


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


def valve(channels: int) -> Callable[[int, int], object]:
    """Update one channel of a valve."""
    return StatusWatermarkValve(channels, Unread()).input_watermark


def multiplexer(channels: int) -> Callable[[int, int], object]:
    """Update one output of a multiplexer at once."""
    made = WatermarkOutputMultiplexer(Unread())
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
    """0 if no cost grows faster than log n."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=400_000, help="single updates a size")
    parser.add_argument("--json", action="store_true", help="figures as JSON, one line")
    chosen = parser.parse_args()
    measured = [update for component in COMPONENTS for update in updates(component, chosen.updates)]
    if chosen.json:
        print(json.dumps([vars(each) for each in measured]))
    else:
        print("one update, in ns, and how it grew from 10 channels (bar: log n)")
        for each in measured:
            bar = f"×{each.grown:.2f} (log n: ×{each.log_grown:.2f})"
            print(f"  {each.component:<12}{each.channels:>8,} channels{each.nanoseconds:9.0f} ns   {bar}")
    return int(any(each.grown > each.log_grown for each in measured))


if __name__ == "__main__":
    sys.exit(main())
