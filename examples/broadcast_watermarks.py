"""A broadcast side and event time: four ways to give it watermarks, and what each costs.

A stream of events is enriched with rules that are read anew every X seconds and broadcast. An
event's result is due when event time has gone on by t: a timer. The operator has two inputs, so its
event time is the *minimum* of both, and the side that hardly ever speaks decides:

    no watermarks on the broadcast side     nothing ever comes out
    one with every reading, every X         up to t + X
    one every x, far more often than X      up to t + x
    MAX (or idleness)                       t: event time is that of the events alone

It runs in virtual time, in a moment:

    python examples/broadcast_watermarks.py [--x 300] [--small-x 5] [--t 60] [--svg curves.svg]
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from lockgate.duration import NANOS_PER_MILLI, Duration
from lockgate.flink.clocks import Timer, TimerCallback
from lockgate.flink.elements import Record, StreamElement, WatermarkOutput
from lockgate.flink.generators import NoWatermarks, PunctuatedWatermarks, WatermarkGenerator
from lockgate.flink.propagation.assigners import TimestampsAndWatermarksOperator
from lockgate.flink.propagation.channels import by, to_all
from lockgate.flink.propagation.network import Network, Task
from lockgate.flink.propagation.operators import Operator
from lockgate.flink.propagation.timers import EventTimer
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MAX

SECOND = 1_000
EVENTS_EVERY_S = 1


@dataclass(frozen=True)
class Times:
    """In seconds: how long events are kept (t), how often rules are read (X) and may be heard of
    (x), and how long all of it runs.
    """

    t: int = 60
    x: int = 300
    small_x: int = 5
    runs: int = 1_800


DEFAULT = Times()


@dataclass(frozen=True)
class Result:
    """An event of `event_s` whose result, by the rule read last, came `late_s` seconds after it."""

    event_s: int
    late_s: int
    rule: object


class Enrich(Operator):
    """Keeps each event for t of event time, then emits it with the rule that holds by then."""

    def __init__(self, kept_ms: int) -> None:
        super().__init__(inputs=2)
        self._kept_ms = kept_ms
        self._rule: object = None

    def process(self, index: int, record: Record) -> None:
        """Process an event, or a reading of the rules; of these None only moves time on."""
        if index == 0:
            self.timers.set(EventTimer(record.timestamp + self._kept_ms, record.timestamp))
        elif record.value is not None:
            self._rule = record.value

    def on_event_time(self, timer: EventTimer) -> None:
        """Emit the event, since its time has come."""
        self.output.emit(Record((timer.key, self._rule), timer.timestamp))


class AlwaysMax(WatermarkGenerator):
    """Says with its first event that it will never hold anybody."""

    def on_event(self, event: object, timestamp: int, output: WatermarkOutput) -> None:
        """MAX."""
        output.emit_watermark(MAX)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Nothing."""


class VirtualTime:
    """Time that moves by hand, and calls its periodic timers on the way. No timer is cancelled."""

    def __init__(self) -> None:
        self._now_ms = 0
        self._periodic: list[tuple[int, TimerCallback]] = []

    def now_ms(self) -> int:
        """Return the time in ms."""
        return self._now_ms

    def relative_nanos(self) -> int:
        """Return the time in ns, by which idleness is measured."""
        return self._now_ms * NANOS_PER_MILLI

    def set_timer(self, at_ms: int, callback: TimerCallback) -> Timer:
        """Raise NotImplementedError, since nothing here sets a single timer."""
        raise NotImplementedError

    def repeat(self, period_ms: int, callback: TimerCallback) -> Timer:
        """Call `callback` at each multiple of `period_ms`."""
        self._periodic.append((period_ms, callback))
        return cast("Timer", callback)

    def advance_to(self, at_ms: int) -> None:
        """Go on to `at_ms`, and call what is due on the way."""
        while (due := min((self._now_ms // period + 1) * period for period, _ in self._periodic)) <= at_ms:
            self._now_ms = due
            for period_ms, callback in self._periodic:
                if due % period_ms == 0:
                    callback(due)
        self._now_ms = at_ms


class Results:
    """Writes down when each event's result came."""

    def __init__(self, time: VirtualTime) -> None:
        self._time = time
        self.all: list[Result] = []

    def emit(self, element: StreamElement) -> None:
        """Take one result; watermarks are not of interest."""
        if isinstance(element, Record):
            event_ms, rule = cast("tuple[int, object]", element.value)
            self.all.append(Result(event_ms // SECOND, (self._time.now_ms() - event_ms) // SECOND, rule))


PER_EVENT = WatermarkStrategy.for_generator(PunctuatedWatermarks)
SILENT = WatermarkStrategy.for_generator(NoWatermarks)
VARIANTS: dict[str, tuple[WatermarkStrategy, Callable[[Times], int]]] = {
    "none": (SILENT, lambda times: times.x),
    "every X": (PER_EVENT, lambda times: times.x),
    "every x": (PER_EVENT, lambda times: times.small_x),
    "MAX": (WatermarkStrategy.for_generator(AlwaysMax), lambda times: times.x),
    "idleness": (SILENT.with_idleness(Duration.of(seconds=1)), lambda times: times.x),
}


def simulate(variant: str, times: Times = DEFAULT) -> list[Result]:
    """Return the results that one variant brings while it runs, in order."""
    strategy, period = VARIANTS[variant]
    time, network = VirtualTime(), Network()
    events = _assigned(network, "events", PER_EVENT, time)
    rules = _assigned(network, "rules", strategy, time)
    enrich = [network.add(f"enrich {number}", Enrich(times.t * SECOND)) for number in range(2)]
    network.connect([network.tasks["events assigned"]], enrich, index=0, partition=by(int))  # type: ignore[arg-type]
    network.connect([network.tasks["rules assigned"]], enrich, index=1, partition=to_all)
    results = Results(time)
    network.collect(enrich, results)
    network.start()
    for now_s in range(times.runs):
        time.advance_to(now_s * SECOND)
        if now_s % period(times) == 0:
            rules.output.emit(Record(f"rules of {now_s}" if now_s % times.x == 0 else None, now_s * SECOND))
        if now_s % EVENTS_EVERY_S == 0:
            events.output.emit(Record(now_s, now_s * SECOND))
        network.run()
    return results.all


def _assigned(network: Network, name: str, strategy: WatermarkStrategy, time: VirtualTime) -> Task:
    """Return a source, and behind it the operator that assigns its event time."""
    source = network.source(name)
    network.connect([source], [network.add(f"{name} assigned", TimestampsAndWatermarksOperator(strategy, time))])
    return source


def table(curves: dict[str, list[Result]], times: Times) -> str:
    """Results, mean and worst lateness of each variant."""
    lines = [f"t = {times.t} s, X = {times.x} s, x = {times.small_x} s; {times.runs} s of events, one a second", ""]
    lines.append(f"{'broadcast watermarks':<22}{'results':>9}{'mean late':>12}{'worst':>9}   bound")
    bounds = {
        "none": "∞",
        "every X": f"t + X = {times.t + times.x} s",
        "every x": f"t + x = {times.t + times.small_x} s",
    }
    for name, results in curves.items():
        late = [result.late_s for result in results]
        mean, worst = (f"{sum(late) / len(late):.1f} s", f"{max(late)} s") if late else ("never", "never")
        lines.append(f"{name:<22}{len(late):>9}{mean:>12}{worst:>9}   {bounds.get(name, f't = {times.t} s')}")
    return "\n".join(lines)


def chart(curves: dict[str, list[Result]], times: Times, *, columns: int = 72, rows: int = 14) -> str:
    """Lateness over the event's time, one letter a variant."""
    top = times.t + times.x
    grid = [[" "] * columns for _ in range(rows + 1)]
    for name, letter in (("every X", "X"), ("every x", "x"), ("MAX", "m")):
        for result in curves[name]:
            column = result.event_s * columns // times.runs
            row = rows - result.late_s * rows // top
            grid[row][column] = letter if grid[row][column] in (" ", letter) else "*"
    lines = [f"{(rows - row) * top // rows:>6} s |{''.join(cells)}" for row, cells in enumerate(grid)]
    return "\n".join(
        [
            "how late an event's result comes",
            *lines,
            f"{'':>9}+{'-' * columns}",
            f"{'':>10}event time, 0 to {times.runs} s",
            "X: every X   x: every x   m: MAX (and idleness)   *: several in one place   none: nowhere",
        ]
    )


def svg(curves: dict[str, list[Result]], times: Times) -> str:
    """Return the same as a picture."""
    width, height, top = 720, 360, times.t + times.x
    colours = {"every X": "#c0392b", "every x": "#e67e22", "MAX": "#27ae60", "idleness": "#2980b9"}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-60 -20 {width + 80} {height + 100}" '
        'font-family="sans-serif" font-size="13">'
    ]
    parts.append(f'<path d="M0 0 V{height} H{width}" fill="none" stroke="#333"/>')
    for number, (name, colour) in enumerate(colours.items()):
        points = " ".join(
            f"{r.event_s * width / times.runs:.1f},{height - r.late_s * height / top:.1f}" for r in curves[name]
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(f'<text x="{number * 150}" y="{height + 60}" fill="{colour}">{name}</text>')
    parts.append(f'<text x="{4 * 150}" y="{height + 60}" fill="#7f8c8d">none: never</text>')
    for value in (0, times.t, times.t + times.small_x, top):
        parts.append(f'<text x="-8" y="{height - value * height / top + 4:.0f}" text-anchor="end">{value} s</text>')
    parts.append(
        f'<text x="0" y="{height + 30}">event time, 0 to {times.runs} s; upwards: how late its result '
        "comes</text></svg>"
    )
    return "\n".join(parts)


def main() -> None:
    """Simulate all variants, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--t", type=int, default=DEFAULT.t, help="seconds that an event is kept")
    parser.add_argument("--x", type=int, default=DEFAULT.x, help="seconds between readings of the rules (X)")
    parser.add_argument("--small-x", type=int, default=DEFAULT.small_x, help="seconds between signs of life (x)")
    parser.add_argument("--runs", type=int, default=DEFAULT.runs, help="seconds of events")
    parser.add_argument("--svg", type=Path, help="draw the curves into this file as well")
    chosen = parser.parse_args()
    times = Times(chosen.t, chosen.x, chosen.small_x, chosen.runs)
    curves = {name: simulate(name, times) for name in VARIANTS}
    print(table(curves, times))
    print()
    print(chart(curves, times))
    if chosen.svg:
        chosen.svg.write_text(svg(curves, times), encoding="utf-8")


if __name__ == "__main__":
    main()
