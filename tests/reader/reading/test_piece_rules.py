"""The pure parts of reading: what goes out next, up to where, and when the timers fire."""

from itertools import islice
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from lockgate.flink.elements import NO_TIMESTAMP
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.watermark import MAX, MIN
from lockgate_reader.reading.ceiling import own_ceiling
from lockgate_reader.reading.fetched import FetchedRecords, credible
from lockgate_reader.reading.piece_size import CHUNK, PieceSize
from lockgate_reader.reading.pieces import GoingOut
from lockgate_reader.reading.queue import Piece, SplitQueue
from lockgate_reader.reading.split import OpenSplit
from lockgate_reader.reading.timers import ReaderTime

TIMES = st.lists(st.integers(0, 50), min_size=1, max_size=12)


class Kept:
    """A message, as far as its split needs it."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def offset(self) -> int:
        return self._offset


def records(times: list[int]) -> FetchedRecords:
    return FetchedRecords([Kept(offset) for offset in range(len(times))], times)


@given(TIMES, st.integers(-1, 51), st.integers(1, 12))
def test_a_piece_ends_before_the_first_record_above_the_ceiling(times: list[int], ceiling: int, most: int) -> None:
    end = records(times).admitted(ceiling, most)
    assert all(time <= ceiling for time in times[:end])
    assert end == min(len(times), most) or times[end] > ceiling


@given(st.lists(TIMES, min_size=1, max_size=5), st.lists(st.integers(0, 50), max_size=8), st.integers(1, 5))
def test_under_a_rising_ceiling_everything_goes_out_once_in_order_and_nothing_above_it(
    splits: list[list[int]], ceilings: list[int], most: int
) -> None:
    queue, out = SplitQueue(), dict[str, list[int]]()
    for number, times in enumerate(splits):
        split = OpenSplit(KafkaPartitionSplit("t", number), 1, 0, None)
        split.take(records(times))
        queue.add(split)
        out[split.name] = []
    for ceiling in [*sorted(ceilings), MAX]:
        queue.release(ceiling)
        while (found := queue.next_piece(ceiling, most)) is not None:
            if isinstance(found, Piece):
                assert max(found.times) <= ceiling
                out[found.split.name] += found.times
                found.split.gone(found.records, found.count)
            else:
                assert found.next_time is not None
                assert found.next_time > ceiling
    assert list(out.values()) == splits


def piece_of(count: int, at: int = 0) -> Piece:
    fetched = records(list(range(at + count)))
    fetched.at = at
    return Piece(OpenSplit(KafkaPartitionSplit("t", 0), 1, 0, None), fetched, at + count)


@given(st.integers(1, 6), st.integers(0, 3), st.integers(0, 7))
def test_what_was_taken_of_a_piece_is_counted_and_what_was_called_back_does_not_go_out(
    count: int, at: int, taken: int
) -> None:
    going = GoingOut(piece_of(count, at), inf, lambda: 0.0)
    out = [record.offset() for record in islice(going.records, taken)]
    assert out == list(range(at, at + min(count, taken)))
    assert going.count == len(out)
    going.call_back()
    assert list(going.records) == []
    assert len(going.piece.messages) == count


@given(st.integers(1, 6), st.integers(0, 7))
def test_no_record_goes_out_at_or_after_the_deadline(count: int, deadline: int) -> None:
    clock = iter(range(100))
    going = GoingOut(piece_of(count), deadline, lambda: next(clock))
    assert len(list(going.records)) == going.count == min(count, deadline)


@given(TIMES, st.sets(st.integers(0, 11)))
def test_a_time_that_is_not_credible_raises_nothing_and_holds_nobody(times: list[int], bad: set[int]) -> None:
    given_times = [(-1 if n % 2 else 10**15) if n in bad else time for n, time in enumerate(times)]
    stamped = min(given_times) >= 0
    found, left_out = credible([Kept(n) for n in range(len(times))], given_times, 100, all_stamped=stamped)
    good = [time for n, time in enumerate(times) if n not in bad]
    assert left_out == len(times) - len(good)
    assert found.highest == max(good, default=NO_TIMESTAMP)
    assert found.admitted(max(good, default=0), len(times)) == len(times)


@given(st.integers(0, 1_000), st.integers(1, 1_000), st.booleans(), st.none() | st.integers(0, 5_000))
def test_the_own_ceiling_is_the_drift_above_the_watermark_or_what_lets_something_out(
    watermark: int, drift: int, known: bool, lowest: int | None
) -> None:
    found = own_ceiling(watermark, drift, known, lowest)
    assert found >= watermark + drift
    assert found == watermark + drift or (known and found == lowest)
    assert own_ceiling(MIN, drift, False, lowest) == MIN


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=30))
def test_a_piece_is_at_least_one_record_and_at_most_a_chunk_however_slow_the_program(took: list[int]) -> None:
    size, now = PieceSize(), 0
    for each in took:
        size.begins(now)
        now += each
        size.took(size.most, now)
        assert 1 <= size.most <= CHUNK


def test_a_program_of_a_second_a_record_gets_pieces_of_one() -> None:
    size = PieceSize()
    for turn in range(12):
        size.begins(0)
        size.took(size.most, 0 if turn < 9 else size.most * 1_000)
    assert size.most == 1


def test_missed_periods_are_left_out_and_the_clock_stands_while_the_program_works() -> None:
    now = [0]
    time, fired = ReaderTime(lambda: now[0]), list[int]()
    time.repeat(200, fired.append)
    time.clock.pause()
    now[0] = 5_000
    time.clock.resume()
    time.fire_due()
    assert fired == [200]
    assert time.relative_nanos() == 0
    assert time.next_ms == 5_200
