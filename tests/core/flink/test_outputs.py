"""The event-time logic of a source: what the stream gets, what the listener hears, and in which
order.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.duration import Duration
from lockgate.errors import InvalidValue, UnknownName, WrongState
from lockgate.flink.elements import Record, WatermarkStatus
from lockgate.flink.generators import PunctuatedWatermarks
from lockgate.flink.outputs import TimestampsAndWatermarks
from lockgate.flink.strategy import WatermarkStrategy
from support.streams import Heard, Written
from support.virtual_time import VirtualTime

IDLE, ACTIVE = WatermarkStatus.IDLE, WatermarkStatus.ACTIVE
PUNCTUATED = WatermarkStrategy.for_generator(PunctuatedWatermarks)
BOUNDED = WatermarkStrategy.for_bounded_out_of_orderness(Duration(0))

STORY = st.lists(
    st.tuples(
        st.sampled_from(["main", "0", "1"]),
        st.integers(0, 12) | st.sampled_from(["mark_idle", "mark_active", "periodic", "wait"]),
    ),
    max_size=50,
)


class Source:
    """An event-time logic with its main output, that writes down the stream and the callbacks in
    one list.
    """

    def __init__(self, strategy: WatermarkStrategy, *splits: str, interval_ms: int = 200) -> None:
        self.time = VirtualTime(1_000)
        self.out = Written()
        self.logic = TimestampsAndWatermarks(strategy, self.time, interval_ms)
        self.main = self.logic.create_main_output(self.out, Heard(self.out.all))
        self.splits = {name: self.main.create_output_for_split(name) for name in splits}

    def received(self) -> list[object]:
        """Everything since the last time, without the callbacks of splits."""
        received = [what for what in self.out.all if not (isinstance(what, tuple) and what[0].startswith("split"))]
        self.out.all.clear()
        return received


@given(STORY, st.sampled_from([PUNCTUATED, BOUNDED, BOUNDED.with_idleness(Duration.of(ms=10))]))
def test_whatever_happens_watermarks_rise_and_statuses_alternate(
    story: list[tuple[str, int | str]], strategy: WatermarkStrategy
) -> None:
    source = Source(strategy, "0", "1")
    for name, what in story:
        output = source.main if name == "main" else source.splits[name]
        if isinstance(what, int):
            output.collect("value", what)
        elif what == "periodic":
            source.logic.emit_immediately()
        elif what == "wait":
            source.time.advance(7)
        else:
            getattr(output, what)()
    statuses = [what for what in source.out.all if isinstance(what, WatermarkStatus)]
    assert source.out.watermarks == sorted(set(source.out.watermarks))
    assert all(one is not other for one, other in zip([ACTIVE, *statuses], statuses, strict=False))
    assert source.out.watermarks == [
        what[1] for what in source.out.all if isinstance(what, tuple) and what[0] == "effective"
    ]


def test_a_record_goes_before_its_watermark_and_the_listener_hears_first() -> None:
    source = Source(PUNCTUATED)
    source.main.mark_idle()
    source.received()
    source.main.collect("a", 5)
    assert source.received() == [Record("a", 5), ("effective", 5), ACTIVE, ("idle", False), 5]


def test_the_slowest_split_holds_the_source_and_a_main_output_does_not() -> None:
    source = Source(PUNCTUATED, "0", "1")
    source.splits["0"].collect("a", 9)
    source.splits["1"].collect("b", 3)
    assert source.out.watermarks == [3]
    source.main.collect("c", 11)
    assert source.out.watermarks == [3, 11]


def test_periodic_emission_comes_every_interval_unless_that_is_0() -> None:
    for interval, watermarks in ((200, [4]), (0, [])):
        source = Source(BOUNDED, "0", interval_ms=interval)
        source.logic.start_periodic_emission()
        source.splits["0"].collect("a", 5)
        source.time.advance(199)
        assert source.out.watermarks == []
        source.time.advance(1)
        assert source.out.watermarks == watermarks
        source.logic.stop_periodic_emission()
        source.splits["0"].collect("a", 50)
        source.time.advance(1_000)
        assert source.out.watermarks == watermarks


def test_stream_is_idle_only_when_main_and_splits_are() -> None:
    source = Source(PUNCTUATED, "0")
    source.main.collect("a", 5)
    source.splits["0"].mark_idle()
    assert IDLE not in source.received()
    source.main.mark_idle()
    assert source.received() == [IDLE, ("idle", True)]
    source.splits["0"].mark_active()
    source.splits["0"].collect("b", 5)
    assert source.received() == [Record("b", 5)]
    source.main.mark_active()
    assert source.received() == [ACTIVE, ("idle", False)]


def test_a_paused_split_and_back_pressure_stop_the_clock_of_idleness() -> None:
    source = Source(BOUNDED.with_idleness(Duration.of(ms=10)), "0")
    source.splits["0"].collect("a", 5)
    source.logic.emit_immediately()
    source.logic.emit_immediately()
    source.logic.back_pressure(True)
    source.logic.back_pressure(True)
    source.time.advance(50)
    source.logic.emit_immediately()
    source.logic.back_pressure(False)
    source.logic.pause_or_resume_splits(["0"], [])
    source.time.advance(50)
    source.logic.emit_immediately()
    assert IDLE not in source.received()
    source.logic.pause_or_resume_splits([], ["0"])
    source.time.advance(11)
    source.logic.emit_immediately()
    assert IDLE in source.received()


def test_split_that_is_missing_or_not_paused_is_refused() -> None:
    source = Source(BOUNDED, "0", "1")
    with pytest.raises(UnknownName, match=r"split '9' is unknown: splits with an output are \['0', '1'\]"):
        source.logic.pause_or_resume_splits(["0", "9"], [])
    with pytest.raises(WrongState, match="cannot be resumed"):
        source.logic.pause_or_resume_splits(["0"], ["1"])
    with pytest.raises(WrongState, match="cannot be resumed"):
        source.logic.pause_or_resume_splits([], ["0"])


def test_there_is_one_main_output_and_one_periodic_emission() -> None:
    source = Source(BOUNDED)
    with pytest.raises(WrongState, match="a main output already"):
        source.logic.create_main_output(source.out, Heard([]))
    source.logic.start_periodic_emission()
    with pytest.raises(WrongState, match="stop it first"):
        source.logic.start_periodic_emission()
    with pytest.raises(InvalidValue, match="auto_watermark_interval_ms: must be 0"):
        TimestampsAndWatermarks(BOUNDED, source.time, -1)
