"""What is kept of a run's slices over restarts, without Kafka: the texts are in memory."""

import json
import logging
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockgate.plan.model import Limit, Plan, PlannedState, SplitPlan
from lockgate.plan.windows import Windows
from lockgate.wire.codec import to_json
from lockgate_spark.logs.unread import Key, Unread
from lockgate_spark.planning.slices import Slices
from lockgate_spark.telemetry.view import BatchSlice
from support.broken_texts import broken
from support.runs import TwoTexts

WINDOW = Windows(100)
NOTHING_LEFT = Unread({}, {}, {0: {"t-0": 0}})  # no log is asked whether it is in order


def plan(end: int, target: int) -> Plan[Key]:
    split = SplitPlan(position=end - 10, end=end, state=PlannedState.ACTIVE, watermark=0, next=None)
    return Plan(target=target, ceiling=target, limit=Limit.BUDGET, splits={(0, "t-0"): split}, look_ups=1)


@pytest.fixture
def memory() -> TwoTexts:
    return TwoTexts()


def taken(memory: TwoTexts, *cuts: int) -> Slices:
    """A run that has taken a batch up to each of these event times; batch n ends at offset 10 n."""
    slices = Slices(WINDOW, memory, {}, {})
    for n, cut in enumerate(cuts, 1):
        slices.take(plan(10 * n, cut - 1), 0, NOTHING_LEFT, 0)
    return slices


def test_a_replayed_batch_has_the_slice_it_was_planned_with(memory: TwoTexts) -> None:
    taken(memory, 100, 300)
    assert Slices(WINDOW, memory, {0: {"t-0": 20}}, {}).replayed == BatchSlice(100, 300, complete=True)


def test_a_plan_that_was_never_logged_is_forgotten(memory: TwoTexts) -> None:
    taken(memory, 100, 300)
    again = Slices(WINDOW, memory, {0: {"t-0": 10}}, {})
    assert again.replayed == BatchSlice(0, 100, complete=True)
    assert again.take(plan(15, 199), 100, NOTHING_LEFT, 0) == BatchSlice(100, 200, complete=True)
    assert Slices(WINDOW, memory, {0: {"t-0": 10}}, {}).replayed is not None, "the logged one was written over"


def test_a_slice_that_was_cut_off_while_it_was_kept_is_forgotten(memory: TwoTexts) -> None:
    taken(memory, 100, 300)
    memory.texts[0] = memory.texts[0][:-7]
    assert Slices(WINDOW, memory, {0: {"t-0": 10}}, {}).replayed == BatchSlice(0, 100, complete=True)


def test_source_without_logged_offset_keeps_the_slice_of_the_others(memory: TwoTexts) -> None:
    # No topic matches its pattern yet: Spark logs nothing of it.
    Slices(WINDOW, memory, {}, {}).take(plan(10, 99), 0, Unread({}, {}, {0: {"t-0": 0}, 1: {}}), 0)
    assert Slices(WINDOW, memory, {0: {"t-0": 10}}, {}).replayed == BatchSlice(0, 100, complete=True)


def test_on_a_checkpoint_without_slices_the_first_one_is_not_complete(memory: TwoTexts) -> None:
    slices = Slices(WINDOW, memory, {0: {"t-0": 10}}, {})
    assert slices.replayed is None
    assert slices.take(plan(20, 199), 100, NOTHING_LEFT, 0) == BatchSlice(100, 200, complete=False)
    assert slices.take(plan(30, 299), 200, NOTHING_LEFT, 0) == BatchSlice(200, 300, complete=True)


def test_window_is_not_repeated_after_batches_without_slices(
    memory: TwoTexts,
) -> None:
    taken(memory, 100, 300)
    slices = Slices(WINDOW, memory, {0: {"t-0": 25}}, {})
    assert slices.take(plan(40, 399), 50, NOTHING_LEFT, 0) == BatchSlice(300, 400, complete=False)
    assert slices.take(plan(50, 499), 400, NOTHING_LEFT, 0) == BatchSlice(400, 500, complete=True)


def test_first_slice_with_a_new_source_is_incomplete(memory: TwoTexts) -> None:
    taken(memory, 100)
    two = Unread({}, {}, {0: {"t-0": 0}, 1: {}})
    slices = Slices(WINDOW, memory, {0: {"t-0": 20}}, {})
    assert slices.take(plan(30, 199), 100, two, 0) == BatchSlice(100, 200, complete=False)


def test_a_plan_that_reads_nothing_has_no_slice(memory: TwoTexts) -> None:
    nothing = plan(10, 99)
    nothing = replace(
        nothing, splits={key: split._replace(end=split.position) for key, split in nothing.splits.items()}
    )
    assert Slices(WINDOW, memory, {}, {}).take(nothing, 0, NOTHING_LEFT, 0) is None
    assert memory.texts == {}


# -- texts that this release cannot have written --

WHOLE = to_json(taken(TwoTexts(), 100, 300)._last)


@settings(max_examples=100, deadline=None)
@given(st.lists(broken(WHOLE, [20, 300], ["0", "t-0", "slice", "shown", "ends"]), min_size=1, max_size=2))
def test_no_broken_text_stops_a_query_and_it_is_rewritten(texts: list[str]) -> None:
    logging.disable(logging.WARNING)
    try:
        memory = TwoTexts()
        memory.texts = dict(enumerate(texts))
        slices = Slices(WINDOW, memory, {0: {"t-0": 20}}, {})
        _ = slices.replayed
        assert slices.take(plan(30, 399), 350, NOTHING_LEFT, 0) is not None
        slices.take(plan(40, 499), 400, NOTHING_LEFT, 0)
        assert Slices(WINDOW, memory, {0: {"t-0": 40}}, {}).replayed is not None, "written anew"
    finally:
        logging.disable(logging.NOTSET)


@pytest.mark.parametrize("text", ["", "[]", *(json.dumps(WHOLE | more) for more in ({"x": 1}, {"slice": [100, 300]}))])
def test_a_text_that_cannot_be_read_is_forgotten_with_one_warning(
    text: str, memory: TwoTexts, caplog: pytest.LogCaptureFixture
) -> None:
    memory.texts = {0: text, 1: text}
    slices = Slices(WINDOW, memory, {0: {"t-0": 20}}, {})
    assert slices.take(plan(30, 399), 350, NOTHING_LEFT, 0) == BatchSlice(350, 400, complete=False)
    slices.take(plan(40, 499), 400, NOTHING_LEFT, 0)
    Slices(WINDOW, memory, {0: {"t-0": 40}}, {})
    assert sum("ignoring an unreadable file" in message for message in caplog.messages) == 1
