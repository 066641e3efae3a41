"""Replays traces: event by event in order, then the state after each operation.

What Flink *said* in an error is its own or the JVM's text; compared is the class, by the table
below. Where lockgate differs on purpose the deviation table (`deviations.py`) changes what is
expected, and the comparison goes on.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flink_replay.adapters.base import Adapter, Event
from flink_replay.adapters.combining import IndexedStatusAdapter, MultiplexerAdapter, ValveAdapter
from flink_replay.adapters.coordinating import AggregatorAdapter, CoordinatorAdapter
from flink_replay.adapters.generating import GeneratorAdapter, SqlMiniBatchAssignerAdapter, SqlWatermarkAssignerAdapter
from flink_replay.adapters.kafka import KafkaSplitAdapter
from flink_replay.adapters.operating import SourceOperatorAdapter
from flink_replay.adapters.sourcing import TimestampsAndWatermarksAdapter
from flink_replay.deviations import DEVIATIONS
from flink_replay.expected import Expected
from lockgate.errors import CannotPause, InvalidValue, LockgateError, UnknownName, UnreadableBytes, WrongState

TRACES = Path(__file__).parents[1] / "traces"
REPORTED = "flink-replay"  # the property of a test's report that holds its outcome

COMPONENTS: dict[str, type[Adapter]] = {
    "indexed_combined_watermark_status": IndexedStatusAdapter,
    "kafka_partition_split": KafkaSplitAdapter,
    "source_coordinator_alignment": CoordinatorAdapter,
    "source_operator_alignment": SourceOperatorAdapter,
    "sql_rowtime_minibatch_assigner": SqlMiniBatchAssignerAdapter,
    "sql_watermark_assigner": SqlWatermarkAssignerAdapter,
    "status_watermark_valve": ValveAdapter,
    "timestamps_and_watermarks": TimestampsAndWatermarksAdapter,
    "watermark_aggregator": AggregatorAdapter,
    "watermark_generators": GeneratorAdapter,
    "watermark_output_multiplexer": MultiplexerAdapter,
}

ERRORS: dict[str, tuple[type[LockgateError], ...]] = {
    "ArithmeticException": (InvalidValue,),
    "ArrayIndexOutOfBoundsException": (UnknownName,),
    "EOFException": (UnreadableBytes,),
    "FlinkRuntimeException": (InvalidValue,),
    "IllegalArgumentException": (InvalidValue, UnknownName),
    "IllegalStateException": (WrongState,),
    "IndexOutOfBoundsException": (UnknownName,),
    "NullPointerException": (UnknownName, InvalidValue),
    "RuntimeException": (InvalidValue,),
    "UTFDataFormatException": (UnreadableBytes,),
    "UnsupportedOperationException": (CannotPause,),
}

# Texts for people, which are ours.
UNCOMPARED = ("message", "cause", "cause_message", "to_string")
# There Flink's task would have failed with the error, and what the recorder saw afterwards means
# nothing.
ENDS_WITH_AN_ERROR = ("source_operator_alignment",)


@dataclass(frozen=True)
class Trace:
    """One line of a file."""

    file: str
    line: int
    content: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.content.get('name') or self.content.get('seed')}"


@dataclass(frozen=True)
class Outcome:
    """`difference` None: as Flink, but for the `deviations` that applied."""

    difference: str | None = None
    deviations: tuple[str, ...] = ()


def folder() -> Path:
    """Return the project's own traces, or those that LOCKGATE_TRACES names."""
    return Path(os.environ.get("LOCKGATE_TRACES") or TRACES)


def traces(where: Path) -> Iterator[Trace]:
    """All traces of a folder."""
    for path in sorted(where.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if line.strip():
                yield Trace(path.stem, number, json.loads(line))


def replay(trace: Trace) -> Outcome:
    """One trace. A component nobody knows is a difference."""
    content = trace.content
    component = COMPONENTS.get(content["component"])
    if component is None:
        return Outcome(f"unknown component {content['component']!r}")
    adapter = component(content["params"])
    deviations = [deviation() for deviation in DEVIATIONS if deviation.component == content["component"]]
    applied: dict[str, None] = {}
    for index, (op, out, state) in enumerate(zip(content["ops"], content["out"], content["state"], strict=True)):
        expected = Expected(op, out, state)
        for deviation in deviations:
            adapted = deviation.adapt(expected)
            if adapted != expected:
                applied[deviation.name] = None
            expected = adapted
        difference = _difference(adapter, expected)
        if difference is not None:
            return Outcome(f"operation {index} {op}: {difference}")
        if content["component"] in ENDS_WITH_AN_ERROR and expected.out and "error" in expected.out[-1]:
            break
    return Outcome(None, tuple(applied))


def _difference(adapter: Adapter, expected: Expected) -> str | None:
    adapter.events.clear()
    raised: LockgateError | None = None
    try:
        adapter.apply(expected.op)
    except LockgateError as error:
        raised = error
    out = [_compared(event) for event in expected.out]
    error = out.pop()["error"] if out and "error" in out[-1] else None
    if [_compared(event) for event in adapter.events] != out:
        return f"expected {out}, got {adapter.events}{f' and {raised!r}' if raised else ''}"
    if (raised is None) != (error is None) or (error is not None and type(raised) not in ERRORS.get(error, ())):
        return f"expected the error {error}, got {raised!r}"
    state = adapter.state()
    return (
        None
        if expected.state is None or state == expected.state
        else f"expected the state {expected.state}, got {state}"
    )


def _compared(event: Event) -> Event:
    hash_is_luck = event.get("return") is False  # what is not equal may have the same hash in Java
    return {
        name: value
        for name, value in event.items()
        if name not in UNCOMPARED and not (hash_is_luck and name == "hash_equal")
    }


def summary(outcomes: list[Outcome]) -> str:
    """Return the closing line."""
    different = sum(outcome.difference is not None for outcome in outcomes)
    deviating = sum(outcome.difference is None and bool(outcome.deviations) for outcome in outcomes)
    equal = len(outcomes) - different - deviating
    line = f"{len(outcomes)} traces replayed: {equal} equal, {deviating} equal but for a deviation of the table"
    return f"{line}, {different} different" if different else line
