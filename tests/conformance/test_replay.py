"""Every trace of Flink's own classes, replayed against lockgate's."""

from collections.abc import Callable
from pathlib import Path

import pytest
from flink_replay.runner import COMPONENTS, Outcome, Trace, folder, replay, traces

ALL = list(traces(folder()))


@pytest.mark.parametrize("trace", ALL, ids=str)
def test_lockgate_answers_as_flink_did(trace: Trace, replayed: Callable[[Outcome], None]) -> None:
    outcome = replay(trace)
    replayed(outcome)
    assert outcome.difference is None


def test_there_are_traces_to_replay() -> None:
    assert ALL, f"no *.jsonl in {folder()}"


def test_the_traces_kept_here_have_every_component_and_few_deviate() -> None:
    kept = list(traces(Path(__file__).parent / "traces"))
    assert {trace.content["component"] for trace in kept} == set(COMPONENTS)
    assert len(kept) >= 478
    assert sum(bool(replay(trace).deviations) for trace in kept) <= 25


def test_a_trace_of_an_unknown_component_fails() -> None:
    outcome = replay(Trace("other", 1, {"component": "time_machine", "params": {}, "ops": [], "out": [], "state": []}))
    assert outcome.difference == "unknown component 'time_machine'"


@pytest.mark.parametrize(
    ("out", "state"),
    [([{"return": 6}], {"aggregated": 5, "keys": ["a"]}), ([{"return": 5}], {"aggregated": 6, "keys": ["a"]})],
    ids=["another answer", "another state"],
)
def test_another_answer_or_another_state_fails(out: list[object], state: object) -> None:
    content = {"component": "watermark_aggregator", "params": {}, "ops": [{"op": "aggregate", "key": "a", "ts": 5}]}
    assert replay(Trace("other", 1, {**content, "out": [out], "state": [state]})).difference is not None


def test_error_that_flink_did_not_throw_or_of_another_kind_fails() -> None:
    content = {"component": "status_watermark_valve", "params": {}, "state": [None, None]}
    ops = [{"op": "new", "channels": 1}, {"op": "watermark", "ch": 1, "ts": 5}]
    for out in ([], [{"error": "IllegalStateException"}]):
        assert replay(Trace("other", 1, {**content, "ops": ops, "out": [[], out]})).difference is not None
