"""The multiplexer: what reaches the output below, and what each listener hears."""

from unittest.mock import Mock, call

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.errors import UnknownName, WrongState
from lockgate.flink.multiplexer import WatermarkOutputMultiplexer
from lockgate.watermark import MIN
from support.streams import Written

SAYINGS = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.sampled_from(["immediate", "deferred"]),
        st.integers(0, 12) | st.sampled_from(["idle", "active"]),
    ),
    max_size=50,
)


def multiplexer(*names: str) -> tuple[WatermarkOutputMultiplexer, Written]:
    out = Written()
    made = WatermarkOutputMultiplexer(out)
    for name in names:
        made.register(name)
    return made, out


def say(made: WatermarkOutputMultiplexer, name: str, kind: str, what: int | str) -> None:
    output = made.immediate(name) if kind == "immediate" else made.deferred(name)
    if isinstance(what, int):
        output.emit_watermark(what)
    elif what == "idle":
        output.mark_idle()
    else:
        output.mark_active()


@given(SAYINGS)
def test_combined_watermark_rises_and_is_never_above_an_active_output(
    sayings: list[tuple[str, str, int | str]],
) -> None:
    made, out = multiplexer("a", "b", "c")
    for saying in sayings:
        before = len(out.all)
        say(made, *saying)
        active = [watermark for watermark, idle in made.partials().values() if not idle]
        sent = [what for what in out.all[before:] if isinstance(what, int)]
        assert all(watermark <= min(active) for watermark in sent if active)
    assert out.watermarks == sorted(set(out.watermarks))


@given(SAYINGS)
def test_deferred_and_immediate_come_to_the_same_in_the_end(sayings: list[tuple[str, str, int | str]]) -> None:
    ends = []
    for kind in ("immediate", "deferred"):
        made, _ = multiplexer("a", "b", "c")
        for name, _, what in sayings:
            if isinstance(what, int):  # with idleness the order decides what is let go on the way
                say(made, name, kind, what)
        made.on_periodic_emit()
        ends.append(made.combined.watermark)
    assert ends[0] == ends[1]


@given(SAYINGS)
def test_the_order_between_two_combinations_does_not_matter(sayings: list[tuple[str, str, int | str]]) -> None:
    ends = []
    for order in (sayings, sorted(sayings, key=lambda saying: saying[0])):
        made, out = multiplexer("a", "b", "c")
        for name, _, what in order:
            say(made, name, "deferred", what)
        made.on_periodic_emit()
        ends.append((made.partials(), out.all))
    assert ends[0] == ends[1]


def test_deferred_watermark_waits_for_the_round_or_an_immediate_one() -> None:
    made, out = multiplexer("a", "b")
    made.deferred("a").emit_watermark(5)
    assert out.all == []
    made.immediate("b").emit_watermark(2)
    assert out.all == [2]


def test_highest_watermark_goes_on_when_all_outputs_are_idle() -> None:
    made, out = multiplexer("a", "b")
    made.immediate("a").emit_watermark(5)
    made.immediate("b").emit_watermark(2)
    made.immediate("a").mark_idle()
    made.immediate("b").mark_idle()
    made.on_periodic_emit()
    assert out.all == [2, 5, "idle", "idle"]


def test_watermark_below_the_combined_one_leaves_all_idle() -> None:
    made, _ = multiplexer("a", "b")
    made.immediate("a").emit_watermark(9)
    made.immediate("a").mark_idle()
    made.immediate("b").mark_idle()
    made.immediate("b").emit_watermark(3)
    assert (made.combined.watermark, made.combined.idle) == (9, True)
    made.on_periodic_emit()
    assert (made.combined.watermark, made.combined.idle) == (9, False)


def test_output_that_leaves_frees_the_others_at_the_next_round() -> None:
    made, out = multiplexer("a")
    made.immediate("a").emit_watermark(2)
    made.register("b")
    made.immediate("a").emit_watermark(9)
    assert out.all == [2]
    assert made.unregister("b")
    assert out.all == [2]
    made.on_periodic_emit()
    assert out.all == [2, 9]


def test_listener_gets_each_output_by_name_and_each_activity() -> None:
    listener = Mock()
    made = WatermarkOutputMultiplexer(Written(), listener)
    made.register("a")
    for timestamp in (3, 3):
        made.deferred("a").emit_watermark(timestamp)
    made.deferred("a").mark_idle()
    idle, rose = call.update_current_split_idle, call.update_current_split_watermark
    assert listener.mock_calls == [idle("a", False), rose("a", 3), idle("a", False), idle("a", True)]


def test_a_name_that_is_taken_is_refused_and_the_old_output_stays() -> None:
    made, _ = multiplexer("a")
    made.immediate("a").emit_watermark(5)
    with pytest.raises(WrongState, match="'a' is registered already"):
        made.register("a")
    assert made.partials() == {"a": (5, False)}


def test_a_name_that_nobody_registered_is_named() -> None:
    made, _ = multiplexer("a")
    for get in (made.immediate, made.deferred):
        with pytest.raises(UnknownName, match=r"output 'b' is unknown: registered are \['a'\]"):
            get("b")
    assert not made.unregister("b")
    assert made.partials() == {"a": (MIN, False)}
