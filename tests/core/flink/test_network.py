"""Watermarks on their way through a network: the pictures of the sources, and what must not depend
on the order.
"""

from collections import deque
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.errors import InvalidValue, UnknownName, WrongState
from lockgate.flink.elements import LatencyMarker, Record, RecordAttributes, StreamElement, Watermark, WatermarkStatus
from lockgate.flink.propagation.channels import ChannelOutput, by, to_all
from lockgate.flink.propagation.network import Network, Task
from lockgate.flink.propagation.operators import Operator
from lockgate.flink.propagation.timers import EventTimer
from lockgate.watermark import MIN
from support.streams import Written

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE
ELEMENTS = (
    st.builds(Watermark, st.integers(0, 12))
    | st.builds(Record, st.integers(0, 9), st.integers(0, 12))
    | st.sampled_from([ACTIVE, IDLE])
)


class Late(Operator):
    """Sets a timer at each record's time and emits the record when it fires: a window of one
    record.
    """

    def process(self, index: int, record: Record) -> None:
        self.timers.set(EventTimer(record.timestamp, record.value))

    def on_event_time(self, timer: EventTimer) -> None:
        self.output.emit(Record(timer.key, timer.timestamp))


def feed(task: Task, *elements: StreamElement) -> None:
    for element in elements:
        task.output.emit(element)


def union(senders: int, operator: Operator | None = None) -> tuple[Network, list[Task], Written]:
    """Some senders into one task, and what comes out of it."""
    network, out = Network(), Written()
    sources = [network.source(f"source {number}") for number in range(senders)]
    task = network.add("union", operator or Operator())
    network.connect(sources, [task])
    network.collect([task], out)
    return network, sources, out


def two_inputs() -> tuple[Network, Task, Task, Written]:
    """One sender into each input of an operator, and what comes out of it."""
    network, out = Network(), Written()
    left, right, both = network.source("left"), network.source("right"), network.add("both", Operator(inputs=2))
    network.connect([left], [both], index=0)
    network.connect([right], [both], index=1)
    network.collect([both], out)
    return network, left, right, out


def test_senders_at_29_and_14_come_to_14_behind_the_shuffle() -> None:
    network, out = Network(), Written()
    maps = [network.source("map 1"), network.source("map 2")]
    windows = [network.add("window 1", Operator()), network.add("window 2", Operator())]
    network.connect(maps, windows, partition=by(hash))
    network.collect(windows, out)
    maps[0].output.emit(Watermark(29))
    network.run()
    assert out.all == []
    maps[1].output.emit(Watermark(14))
    network.run()
    assert out.all == [14, 14]


def test_two_inputs_at_29_and_14_come_to_14() -> None:
    network, left, right, out = two_inputs()
    left.output.emit(Watermark(29))
    right.output.emit(Watermark(14))
    right.output.emit(Record("r", 15))
    left.output.emit(Record("l", 30))
    network.run()
    assert out.watermarks == [14]
    assert {what for what in out.all if isinstance(what, Record)} == {Record("l", 30), Record("r", 15)}


def test_five_inputs_come_to_what_a_chain_of_two_input_operators_does() -> None:
    marks = [9, 4, 7, 12, 5]
    network, whole, chained = Network(), Written(), Written()
    sources = [network.source(str(number)) for number in range(5)]
    wide = network.add("wide", Operator(inputs=5))
    network.collect([wide], whole)
    before = sources[0]
    for number, source in enumerate(sources):
        network.connect([source], [wide], index=number)
        if number:
            pair = network.add(f"pair {number}", Operator(inputs=2))
            network.connect([before], [pair], index=0)
            network.connect([source], [pair], index=1)
            before = pair
    network.collect([before], chained)
    for source, mark in zip(sources, marks, strict=True):
        source.output.emit(Watermark(mark))
    network.run()
    assert whole.all == chained.all == [4]


def test_records_watermarks_and_latency_markers_keep_their_order() -> None:
    network, (source,), out = union(1)
    story: list[StreamElement] = [
        Record("a", 1),
        LatencyMarker(7, "s", 0),
        Watermark(1),
        Record("b", 2),
        RecordAttributes(True),
        Watermark(2),
    ]
    feed(source, *story)
    network.run()
    assert out.all == [what.timestamp if isinstance(what, Watermark) else what for what in story]


def test_only_watermarks_and_statuses_go_to_every_channel() -> None:
    network, outs = Network(), [Written(), Written()]
    source = network.source("source")
    tasks = [network.add(f"task {number}", Operator()) for number in range(2)]
    network.connect([source], tasks, partition=by(lambda value: len(str(value))))
    for task, out in zip(tasks, outs, strict=True):
        network.collect([task], out)
    first, second = LatencyMarker(1, "s", 0), LatencyMarker(2, "s", 0)
    feed(source, Record("aa", 5), Record("b", 6), first, second, Watermark(6), IDLE, IDLE, Watermark(9), ACTIVE)
    network.run()
    assert outs[0].all == [Record("aa", 5), first, 6, IDLE, ACTIVE]
    assert outs[1].all == [Record("b", 6), second, 6, IDLE, ACTIVE]


def test_an_idle_output_sends_no_watermark_and_no_status_twice() -> None:
    channels: list[deque[StreamElement]] = [deque(), deque()]
    output = ChannelOutput(channels, to_all)
    for status in (ACTIVE, IDLE, IDLE):
        output.emit(status)
    output.emit(Watermark(5))
    output.emit(ACTIVE)
    output.emit(Watermark(6))
    assert [list(channel) for channel in channels] == [[IDLE, ACTIVE, Watermark(6)]] * 2


def test_timers_fire_before_the_watermark_goes_on() -> None:
    network, (source,), out = union(1, Late())
    feed(source, Record("b", 7), Record("a", 5), Record("c", 9), Watermark(7))
    network.run()
    assert out.all == [Record("a", 5), Record("b", 7), 7]


def test_an_idle_input_holds_nobody_and_both_idle_make_the_operator_idle() -> None:
    network, left, right, out = two_inputs()
    for task, elements in ((left, [Watermark(29)]), (right, [IDLE]), (left, [IDLE]), (right, [ACTIVE, Watermark(30)])):
        feed(task, *elements)
        network.run()
    assert out.all == [29, IDLE, ACTIVE, 30]


@given(st.lists(st.lists(ELEMENTS, max_size=10), min_size=2, max_size=3), st.randoms(use_true_random=False))
def test_watermarks_rise_and_no_timer_fires_late_in_any_reading_order(
    each: list[list[StreamElement]], random: Random
) -> None:
    network, sources, out = union(len(each), Late())
    for source, elements in zip(sources, each, strict=True):
        feed(source, *elements)
    network.run(random.choice)
    assert out.watermarks == sorted(set(out.watermarks))
    seen = MIN
    for what in out.all:
        if isinstance(what, int):
            seen = what
        elif isinstance(what, Record) and what.timestamp > seen:
            assert next(mark for mark in out.all[out.all.index(what) :] if isinstance(mark, int)) >= what.timestamp


@given(st.lists(st.lists(st.integers(0, 30), max_size=8), min_size=2, max_size=3), st.randoms(use_true_random=False))
def test_order_in_which_active_channels_are_read_does_not_matter(each: list[list[int]], random: Random) -> None:
    ends = []
    for choose in (None, random.choice):
        network, sources, out = union(len(each))
        for source, marks in zip(sources, each, strict=True):
            feed(source, *(Watermark(mark) for mark in marks))
        network.run(choose)
        ends.append(out.watermarks[-1:])
    assert ends[0] == ends[1]


def test_an_impossible_connection_is_refused() -> None:
    network = Network()
    source, task = network.source("source"), network.add("task", Operator())
    with pytest.raises(InvalidValue, match="there is a task 'task' already"):
        network.add("task", Operator())
    with pytest.raises(UnknownName, match="input 1 is unknown: task has inputs 0 to 0"):
        network.connect([source], [task], index=1)
    assert (source.output.connections, task.channels) == ([], [[]])
    with pytest.raises(InvalidValue, match="inputs: must be 1 or more, not 0"):
        Operator(inputs=0)
    network.run()
    with pytest.raises(WrongState, match="add and connect before"):
        network.connect([source], [task])
    with pytest.raises(WrongState, match="add and connect before"):
        network.source("late")
