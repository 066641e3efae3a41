"""Idleness, probe by probe."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.duration import Duration
from lockgate.errors import InvalidValue
from lockgate.flink.generators import PunctuatedWatermarks, WatermarkGenerator
from lockgate.flink.idleness import IdlenessTimer, WatermarksWithIdleness
from lockgate.watermark import MAX
from support.streams import Written
from support.virtual_time import VirtualTime

TIMEOUT = Duration.of(ms=10)


def quiet(time: VirtualTime, probes: int, step_ms: int = 11) -> list[bool]:
    """Return what probes say, one every `step_ms`, after an event at the start."""
    timer = IdlenessTimer(time, TIMEOUT)
    timer.activity()
    said = []
    for _ in range(probes):
        said.append(timer.check_if_idle())
        time.advance(step_ms)
    return said


def test_idleness_takes_three_probes_after_an_event() -> None:
    assert quiet(VirtualTime(1), 3) == [False, False, True]


def test_idleness_takes_strictly_more_than_the_timeout() -> None:
    assert quiet(VirtualTime(1), 3, step_ms=10) == [False, False, False]


def test_a_timer_that_starts_at_zero_starts_one_probe_later() -> None:
    timer = IdlenessTimer(VirtualTime(0), TIMEOUT)
    assert not timer.check_if_idle()
    assert timer.start_of_inactivity_nanos == 0


def test_idle_is_said_once_a_spell_and_the_inner_generator_rests() -> None:
    time, out = VirtualTime(1), Written()
    inner = _Counting()
    generator = WatermarksWithIdleness(inner, TIMEOUT, time)
    for _ in range(4):
        generator.on_periodic_emit(out)
        time.advance(11)
    assert (out.all, inner.asked) == (["idle"], 1)
    generator.on_event(None, 5, out)
    generator.on_periodic_emit(out)
    assert (out.all, inner.asked) == (["idle", 5], 2)


class _Counting(PunctuatedWatermarks):
    asked = 0

    def on_periodic_emit(self, output: object) -> None:
        self.asked += 1


@given(st.lists(st.sampled_from(["event", "probe", "wait"]), max_size=40))
def test_idleness_never_comes_within_the_timeout_of_the_last_event(steps: list[str]) -> None:
    time, out = VirtualTime(1), Written()
    generator: WatermarkGenerator = WatermarksWithIdleness(PunctuatedWatermarks(), TIMEOUT, time)
    last_event = time.now_ms()
    for step in steps:
        if step == "event":
            generator.on_event(None, 1, out)
            last_event = time.now_ms()
        elif step == "wait":
            time.advance(6)
        else:
            said = len(out.all)
            generator.on_periodic_emit(out)
            assert out.all[said:] in ([], ["idle"])
            assert out.all[said:] == [] or time.now_ms() - last_event > 10


@pytest.mark.parametrize("timeout", [Duration(0), Duration(-1)])
def test_a_timeout_of_nothing_is_refused_with_its_value(timeout: Duration) -> None:
    with pytest.raises(InvalidValue, match=f"idle_timeout: must be more than 0, not {timeout}"):
        WatermarksWithIdleness(PunctuatedWatermarks(), timeout, VirtualTime())


def test_a_timeout_beyond_64_bits_of_nanoseconds_is_a_very_long_one() -> None:
    time = VirtualTime(1)
    timer = IdlenessTimer(time, Duration.of(seconds=MAX))
    timer.check_if_idle()
    time.advance_to(10**12)
    assert not timer.check_if_idle()
