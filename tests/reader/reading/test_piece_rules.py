"""The pure parts of reading: what goes out next, up to where, and how many records at once."""

from itertools import islice
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from lockgate.flink.elements import NO_TIMESTAMP
from lockgate.flink.splits import EARLIEST_OFFSET, LATEST_OFFSET, KafkaPartitionSplit
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MAX
from lockgate_reader.place import AssignedSplit
from lockgate_reader.reading.split import CHUNK, FetchedRecords, OpenSplit, Piece, next_size

TIMES = st.lists(st.integers(0, 50), min_size=1, max_size=12)


class Kept:
    """A message, as far as its split needs it."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def offset(self) -> int:
        return self._offset


def records(times: list[int]) -> FetchedRecords:
    return FetchedRecords(messages(times), times)


def messages(times: list[int], first: int = 0) -> list[Kept]:
    return [Kept(first + offset) for offset in range(len(times))]


def opened() -> OpenSplit:
    assigned = AssignedSplit(KafkaPartitionSplit("t", 0), 1)
    return OpenSplit(assigned, 0, None, WatermarkStrategy.for_monotonous_timestamps())


@given(TIMES, st.integers(-1, 51), st.integers(1, 12))
def test_a_piece_ends_before_the_first_record_above_the_ceiling(times: list[int], ceiling: int, most: int) -> None:
    end = records(times).admitted(ceiling, most)
    assert all(time <= ceiling for time in times[:end])
    assert end == min(len(times), most) or times[end] > ceiling


@given(st.lists(TIMES, min_size=1, max_size=5), st.lists(st.integers(0, 50), max_size=8), st.integers(1, 5))
def test_rising_limit_returns_all_records_once_in_order(fetches: list[list[int]], limits: list[int], most: int) -> None:
    split, out = opened(), list[int]()
    for times in fetches:
        split.take(FetchedRecords(messages(times, split.kept), times))
    for limit in [*sorted(limits), MAX]:
        while (piece := split.next_piece(limit, most)) is not None:
            assert max(piece.times) <= limit
            split.going = piece
            out += piece.times
            split.account(piece.returned)
        assert split.position == len(out)
        assert split.next_time is None or split.next_time > limit
    assert out == [time for times in fetches for time in times]
    assert (split.kept, split.watermark.value) == (0, max(out) - 1)


def piece_of(count: int, at: int = 0) -> Piece:
    fetched = records(list(range(at + count)))
    fetched.at = at
    return Piece(opened(), fetched, at + count)


@given(st.integers(1, 6), st.integers(0, 3), st.integers(0, 7))
def test_records_of_a_piece_are_counted_and_called_back(count: int, at: int, taken: int) -> None:
    piece = piece_of(count, at)
    assert piece.returned == count
    going = piece.begin(inf, lambda: 0.0)
    out = [record.offset() for record in islice(going, taken)]
    assert out == list(range(at, at + min(count, taken)))
    assert piece.returned == len(out)
    piece.split.going = piece
    assert piece.split.position == (out[-1] + 1 if out else 0)
    piece.call_back()
    assert list(going) == []
    assert len(piece.messages) == count


def test_a_position_below_the_assignment_s_or_a_former_topic_s_went_back() -> None:
    def split(assigned_at: int, begins_at: int) -> OpenSplit:
        assigned = AssignedSplit(KafkaPartitionSplit("t", 0, assigned_at), 1)
        return OpenSplit(assigned, begins_at, None, WatermarkStrategy.for_monotonous_timestamps())

    set_back, anew = split(40, 30), split(LATEST_OFFSET, 30)
    assert [each.held().went_back for each in (set_back, anew, split(40, EARLIEST_OFFSET))] == [True, False, False]
    set_back.go_to(40)
    anew.begin_again(0, 10)
    assert [each.held().went_back for each in (set_back, anew)] == [False, True]


@given(st.integers(1, 6), st.integers(0, 7))
def test_no_record_is_returned_at_or_after_the_deadline(count: int, deadline: int) -> None:
    clock, piece = iter(range(100)), piece_of(count)
    assert len(list(piece.begin(deadline, lambda: next(clock)))) == piece.returned == min(count, deadline)


@given(TIMES, st.sets(st.integers(0, 11)))
def test_a_time_that_is_not_credible_raises_nothing_and_holds_nobody(times: list[int], bad: set[int]) -> None:
    given_times = [(-1 if n % 2 else 10**15) if n in bad else time for n, time in enumerate(times)]
    found = FetchedRecords(messages(times), given_times, now_ms=0)
    good = [time for n, time in enumerate(times) if n not in bad]
    assert found.left_out == len(times) - len(good)
    assert found.highest == max(good, default=NO_TIMESTAMP)
    assert found.admitted(max(good, default=0), len(times)) == len(times)


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=30))
def test_piece_has_one_record_to_a_chunk_however_slow_the_program(took: list[int]) -> None:
    size = 1
    for each in took:
        size = next_size(size, size, each)
        assert 1 <= size <= CHUNK


def test_a_program_of_a_second_a_record_gets_pieces_of_one() -> None:
    size = 1
    for turn in range(12):
        size = next_size(size, size, 0 if turn < 9 else size * 1_000)
    assert size == 1
