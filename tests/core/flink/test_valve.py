"""The valve: Flink's rules in small numbers, and against a model that looks at every channel each
time.
"""

from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.errors import InvalidValue, UnknownName
from lockgate.flink.elements import WatermarkStatus
from lockgate.flink.valve import StatusWatermarkValve
from lockgate.watermark import MAX, MIN
from support.streams import Written

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE

Input = tuple[int, int | WatermarkStatus]
INPUTS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 6) | st.sampled_from([ACTIVE, IDLE, MIN, MAX])), max_size=60
)


def send(valve: StatusWatermarkValve, channel: int, what: int | WatermarkStatus) -> None:
    if isinstance(what, WatermarkStatus):
        valve.input_status(channel, what)
    else:
        valve.input_watermark(channel, what)


def through(channels: int, inputs: list[Input]) -> list[object]:
    out = Written()
    valve = StatusWatermarkValve(channels, out)
    for channel, what in inputs:
        send(valve, channel, what)
    return out.all


@dataclass
class NaiveValve:
    """The rules of the module's opening lines, by looking at all channels."""

    watermarks: list[int]
    idle: list[bool]
    aligned: list[bool]
    last: int = MIN
    status: WatermarkStatus = ACTIVE
    out: list[object] = field(default_factory=list)

    def input(self, channel: int, what: int | WatermarkStatus) -> None:
        if isinstance(what, WatermarkStatus):
            if self.idle[channel] != (what is IDLE):
                self.idle[channel] = what is IDLE
                self.toggled(channel)
        elif self.status is ACTIVE and not self.idle[channel] and what > self.watermarks[channel]:
            self.watermarks[channel] = what
            self.aligned[channel] |= what >= self.last
            self.minimum()

    def toggled(self, channel: int) -> None:
        held = self.watermarks[channel] == self.last
        if not self.idle[channel]:
            self.aligned[channel] = self.watermarks[channel] >= self.last
            if self.status is IDLE:
                self.status = ACTIVE
                self.out.append(ACTIVE)
            return
        self.aligned[channel] = False
        if not all(self.idle):
            if held:
                self.minimum()
            return
        if held:
            self.rise(max(self.watermarks))
        self.status = IDLE
        self.out.append(IDLE)

    def minimum(self) -> None:
        taking_part = [watermark for watermark, aligned in zip(self.watermarks, self.aligned, strict=True) if aligned]
        if taking_part:
            self.rise(min(taking_part))

    def rise(self, watermark: int) -> None:
        if watermark > self.last:
            self.last = watermark
            self.out.append(watermark)


@given(INPUTS)
def test_the_valve_answers_as_one_that_looks_at_every_channel(inputs: list[Input]) -> None:
    naive = NaiveValve([MIN] * 3, [False] * 3, [True] * 3)
    for channel, what in inputs:
        naive.input(channel, what)
    assert through(3, inputs) == naive.out


@given(
    st.lists(st.lists(st.integers(0, 30), max_size=8).map(sorted), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
)
def test_the_order_among_active_channels_does_not_matter_in_the_end(each: list[list[int]], random: Random) -> None:
    def end(turns: list[int]) -> list[object]:
        left = [iter(values) for values in each]
        return through(len(each), [(channel, next(left[channel])) for channel in turns])[-1:]

    turns = [channel for channel, values in enumerate(each) for _ in values]
    assert end(turns) == end(random.sample(turns, len(turns)))


def test_three_channels_go_as_far_as_the_slowest() -> None:
    assert through(3, [(0, 12), (2, 8), (2, 10), (1, 15), (2, 17), (0, 20)]) == [10, 12, 15]


def test_an_idle_channel_holds_nobody_and_back_again_it_pulls_nobody_back() -> None:
    story: list[Input] = [(0, 10), (1, 7), (2, 3), (2, IDLE), (2, ACTIVE), (2, 5), (2, 9), (1, 12)]
    assert through(3, story) == [3, 7, 9]


def test_the_last_one_to_become_idle_lets_the_highest_go_on() -> None:
    assert through(3, [(0, 10), (1, 5), (2, 3), (0, IDLE), (1, IDLE), (2, IDLE)]) == [3, 10, IDLE]


def test_a_channel_that_is_not_there_is_named_and_nothing_changes() -> None:
    out = Written()
    valve = StatusWatermarkValve(2, out)
    for channel in (-1, 2):
        with pytest.raises(UnknownName, match="channels 0 to 1"):
            valve.input_watermark(channel, 5)
        with pytest.raises(UnknownName, match=f"channel {channel} is unknown"):
            valve.input_status(channel, IDLE)
    assert out.all == []
    assert [valve.watermark_of(channel) for channel in range(2)] == [MIN, MIN]


def test_a_negative_number_of_channels_is_refused() -> None:
    with pytest.raises(InvalidValue, match="channels: must be 0 or more, not -1"):
        StatusWatermarkValve(-1, Written())
