"""The deviation table against recordings of our own operator with Flink's form put back."""

import copy
from random import Random
from typing import Any

import pytest
from flink_replay.adapters.operating import SourceOperatorAdapter
from flink_replay.runner import Trace, replay
from hypothesis import given
from hypothesis import strategies as st

from lockgate.errors import WrongState
from lockgate.flink.source.pausing import SplitAlignment
from support.examples import examples

SPLITS = {"0", "1", "2"}


def finish_as_flink_does(self: SplitAlignment, split_id: str) -> None:
    """Forget the samples, keep the `paused` mark."""
    self.samplers.pop(split_id, None)
    self.idle.discard(split_id)


def next_op(random: Random, live: set[str], number: int) -> dict[str, Any]:
    """Mostly records and announcements that pause; now and then a split finishes, or comes back."""
    split = random.choice(sorted(live)) if live else None
    gone = sorted(SPLITS - live)
    ops: list[dict[str, Any]] = [
        {"op": "record", "split": split, "value": number, "ts": random.randint(0, 40) + number}
    ] * 6
    ops += [{"op": "align", "max": random.randint(0, 50) + number // 2}] * 4
    ops += [{"op": "sample"}, {"op": "sample"}, {"op": "periodic"}, {"op": "advance", "ms": 30}]
    ops += [{"op": random.choice(["mark_idle", "mark_active"]), "split": split}]
    ops += [{"op": "finish_split", "split": split}] * (2 if live else 0)
    ops += [{"op": "add_splits", "splits": gone[:1]}] * (2 if gone else 0)
    ops += [{"op": "poll_end_of_input" if number > 25 and random.random() < 0.3 else "poll_nothing"}]
    return random.choice(ops)


def record(seed: int) -> Trace:
    """Return what the operator answers with Flink's `finish`: like a recording of Flink, to the
    first error.
    """
    random = Random(seed)
    params = {
        "generator": random.choice(["punctuated", "max", "bounded"]),
        "delay_ms": 0,
        "idle_ms": random.choice([None, 20]),
    }
    params |= {"buffer_size": random.choice([0, 0, 1, 2]), "reader_supports_pause": random.random() < 0.9}
    params |= {"allow_unaligned_splits": True, "alignment": True, "clock_start_ms": 1_000}
    adapter, live = SourceOperatorAdapter(params), set(SPLITS)
    content: dict[str, Any] = {
        "component": "source_operator_alignment",
        "params": params,
        "ops": [],
        "out": [],
        "state": [],
    }
    opening = [{"op": "open"}, {"op": "add_splits", "splits": sorted(SPLITS)}]
    for number in range(40):
        op = opening[number] if number < len(opening) else next_op(random, live, number)
        adapter.events.clear()
        failed = False
        try:
            adapter.apply(op)
        except WrongState:
            failed = True
        out = copy.deepcopy(adapter.events) + ([{"error": "IllegalStateException"}] if failed else [])
        for name, value in (("ops", op), ("out", out), ("state", copy.deepcopy(adapter.state()))):
            content[name].append(value)
        if failed:
            break
        if op["op"] == "finish_split" and out[-1]["polled"]:
            live.discard(op["split"])
        live |= set(op.get("splits", ()))
    return Trace("recorded", seed, content)


@examples(150)
@given(st.integers(0, 2**32))
def test_the_table_accounts_for_all_that_differs(seed: int) -> None:
    with pytest.MonkeyPatch.context() as flink:
        flink.setattr(SplitAlignment, "finish", finish_as_flink_does)
        trace = record(seed)
    assert replay(trace).difference is None


def test_among_such_recordings_many_deviate_and_some_end_in_flinks_error() -> None:
    with pytest.MonkeyPatch.context() as flink:
        flink.setattr(SplitAlignment, "finish", finish_as_flink_does)
        recordings = [record(seed) for seed in range(200)]
    assert sum(bool(replay(trace).deviations) for trace in recordings) > 20
    assert sum("error" in trace.content["out"][-1][-1] for trace in recordings if trace.content["out"][-1]) > 5
