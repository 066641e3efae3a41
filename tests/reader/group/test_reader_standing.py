"""What a reader in a group reports of what its consumer says."""

import pytest

from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.watermark import MIN
from lockgate.wire.events import SplitState
from lockgate_http.group.source_status import SourceStatus
from lockgate_reader.group.holdings import NOBODY_HELD, UNKNOWN, standing
from lockgate_reader.place import ReaderSplit, ReaderState


def split(partition: int, watermark: int = MIN, next_time: int | None = None, **more: bool) -> ReaderSplit:
    return ReaderSplit(KafkaPartitionSplit("t", partition, 7), 1, watermark, next_time=next_time, **more)


def status(
    *held: ReaderSplit,
    before: SourceStatus = UNKNOWN,
    settled: bool = True,
    returning: list[ReaderSplit] | None = None,
    **state: object,
) -> SourceStatus:
    said = ReaderState(held=held, **state)  # type: ignore[arg-type]
    return standing(said, before, returning or [], settled=settled, disorder=5, joint=bool(state))


def test_the_lowest_split_that_is_not_idle_is_the_reader_s_watermark() -> None:
    found = status(split(0, 300), split(1, 200), split(2, 100, idle=True))
    assert found.watermark == 200
    assert {name: report.state for name, report in found.splits.items()}["t-2"] is SplitState.IDLE


def test_split_before_a_gap_stands_just_below_its_next_record() -> None:
    found = status(split(0, 100, next_time=900_000, paused=True), split(1, 950_000))
    assert found.watermark == 900_000 - 1 - 5
    assert found.splits["t-0"].state is SplitState.PAUSED


def test_a_split_that_has_shown_nothing_is_left_out_while_another_one_has() -> None:
    assert status(split(0), split(1, 200)).watermark == 200
    assert status(split(0), before=SourceStatus(70, None)).watermark == 70, "as reported last"


def test_a_reader_falls_back_with_a_split_that_comes_from_further_behind() -> None:
    assert status(split(0, 900), split(1, 100), before=SourceStatus(900, None)).watermark == 100


@pytest.mark.parametrize(("settled", "expected"), [(True, NOBODY_HELD), (False, UNKNOWN)])
def test_a_reader_without_splits_holds_nobody_once_all_are_assigned(settled: bool, expected: SourceStatus) -> None:
    assert status(settled=settled) == expected


def test_a_reader_at_its_end_holds_nobody() -> None:
    assert status(split(0, 100), ended=True) == NOBODY_HELD


def test_an_idle_reader_is_idle_and_still_names_its_splits() -> None:
    found = status(split(0, 100, idle=True), split(1), idle=True)
    assert found.idle
    assert {name: report.state for name, report in found.splits.items()} == dict.fromkeys(
        ["t-0", "t-1"], SplitState.IDLE
    )


def test_a_split_is_reported_until_the_coordinator_has_taken_it_back() -> None:
    gives = [split(1, 100)]
    assert status(split(0, 900), returning=gives).watermark == 100
    assert status(returning=gives).watermark == 100
    idle = status(split(0, 50), returning=gives, idle=True)
    assert (idle.watermark, idle.idle) == (100, False)


def test_reach_is_offered_only_above_the_watermark_of_known_splits() -> None:
    assert status(split(0, 100), split(1, 300), reach=400).reach == 400
    assert status(split(0, 100), reach=90).reach is None
    assert status(split(0, 100), split(1), reach=400).reach is None
    unjoint = standing(
        ReaderState(reach=400, held=(split(0, 100),)), UNKNOWN, [], settled=True, disorder=0, joint=False
    )
    assert unjoint.reach is None


def test_a_position_that_is_a_word_is_not_reported() -> None:
    word = ReaderSplit(KafkaPartitionSplit("t", 0), 1, 100)
    assert status(word).splits["t-0"].position is None
    assert status(split(0, 100)).splits["t-0"].position == 7
