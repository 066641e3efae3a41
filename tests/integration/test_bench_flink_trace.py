"""The figures of the benchmark beside Flink, from traces made by hand."""

import numpy as np
from benchmarks.flink.trace import Trace, least_open_rows
from benchmarks.flink.workloads import workload
from benchmarks.skew.history import drift_ms
from benchmarks.skew.shapes import MINUTE_MS, Shape, Topic

from lockgate_testbed.skew import HOUR_MS, T0_MS


def shape(*logs: list[int], delay_ms: int = 0) -> Shape:
    """One topic; times are minutes."""
    times = tuple(T0_MS + np.array(log) * MINUTE_MS for log in logs)
    return Shape("by hand", (Topic("by-hand", times, (), 1),), delay_ms)


def trace(of: Shape, *ends: tuple[int, ...], watermarks: tuple[int, ...] = (0, 0, 0)) -> Trace:
    """A sample a second."""
    seconds = np.arange(len(ends), dtype=np.float64)
    mark = T0_MS + np.array(watermarks[: len(ends)]) * MINUTE_MS
    return Trace(of, seconds, seconds / 2, mark, np.array(ends))


def test_drift_is_that_of_the_benchmark_of_skew() -> None:
    of = workload("out of order by up to 5 min", 2_000, 4)
    (topic,) = of.topics
    rng = np.random.default_rng(3)
    ends = np.sort(np.stack([rng.integers(0, len(log) + 1, 20) for log in topic.logs], axis=1), axis=0)
    boundaries = [{(topic.name, n): int(end) for n, end in enumerate(row)} for row in ends]
    found = Trace(of, np.zeros(20), np.zeros(20), np.full(20, T0_MS), ends)
    assert found.drift_ms == max(drift_ms(of, boundary) for boundary in boundaries)


def test_a_record_is_beyond_once_if_the_other_partition_is_behind_when_its_sample_is_taken() -> None:
    of = shape([0, 10, 20, 30], [0, 15, 25, 40])
    assert trace(of, (3, 0), (4, 2), (4, 4)).beyond(10 * MINUTE_MS) == 1  # the one of 20, while 0 is unread
    assert trace(of, (3, 0), (4, 2), (4, 4)).beyond(20 * MINUTE_MS) == 0
    assert trace(of, (4, 0), (4, 0), (4, 4)).beyond(10 * MINUTE_MS) == 2
    assert trace(of, (4, 4)).beyond(0) == 0


def test_rows_are_open_until_the_watermark_has_passed_their_window() -> None:
    of = shape([0, 30, 70, 130], [10, 80])
    assert trace(of, (2, 1), (3, 2), watermarks=(0, 59)).open_rows == 5
    assert trace(of, (2, 1), (3, 2), (4, 2), watermarks=(0, 60, 60)).open_rows == 3


def test_the_least_are_the_rows_of_a_window_and_its_delay() -> None:
    assert least_open_rows(shape([0, 30, 70, 130], [10, 80])) == 3
    assert least_open_rows(shape([0, 30, 70, 130], [10, 80], delay_ms=HOUR_MS)) == 5


def test_rates_leave_the_first_sample_out() -> None:
    found = trace(shape([0, 30, 70, 130], [10, 80]), (0, 0), (2, 0), (4, 2), (4, 2), watermarks=(0, 0, 0, 0))
    assert found.steady == (4.0, 8.0)
    assert found.whole
