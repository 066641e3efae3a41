"""Kafka splits and how far they have been read."""

import pytest

from lockgate.errors import InvalidValue
from lockgate.flink.splits import (
    COMMITTED_OFFSET,
    EARLIEST_OFFSET,
    LATEST_OFFSET,
    MIGRATED,
    NO_STOPPING_OFFSET,
    KafkaPartitionSplit,
    KafkaPartitionSplitState,
)


def test_split_is_named_after_topic_and_partition_and_reads_all() -> None:
    split = KafkaPartitionSplit("orders", 3)
    assert (split.split_id, str(split)) == ("orders-3", "orders-3")
    assert (split.starting_offset, split.stopping_offset, split.is_migrated) == (EARLIEST_OFFSET, None, False)
    assert KafkaPartitionSplit("orders", 2) < split


@pytest.mark.parametrize("start", [0, 7, LATEST_OFFSET, EARLIEST_OFFSET, COMMITTED_OFFSET, MIGRATED])
@pytest.mark.parametrize("stop", [0, 7, LATEST_OFFSET, COMMITTED_OFFSET, NO_STOPPING_OFFSET])
def test_offsets_are_positions_or_words(start: int, stop: int) -> None:
    split = KafkaPartitionSplit("orders", 0, start, stop)
    assert split.stopping_offset == (None if stop == NO_STOPPING_OFFSET else stop)
    assert split.is_migrated == (start == MIGRATED)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", 0), "topic: must not be empty"),
        (("orders", -1), "partition: must be 0 or more, not -1"),
        (("orders", 0, -4), "starting_offset: of orders-0 must be 0 or more, .* not -4"),
        (("orders", 0, 0, EARLIEST_OFFSET), "stopping_offset: of orders-0 must be 0 or more, .* not -2"),
        (("orders", 0, 0, NO_STOPPING_OFFSET + 1), "stopping_offset"),
    ],
)
def test_an_invalid_split_is_refused(arguments: tuple[str, int], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        KafkaPartitionSplit(*arguments)


def test_a_state_moves_on_and_becomes_the_split_from_the_next_record_on() -> None:
    split = KafkaPartitionSplit("orders", 0, EARLIEST_OFFSET, 100)
    state = KafkaPartitionSplitState(split)
    assert state.to_split() == split
    state.current_offset = 42
    assert state.to_split() == KafkaPartitionSplit("orders", 0, 42, 100)
    assert split.starting_offset == EARLIEST_OFFSET


def test_state_at_an_impossible_offset_becomes_no_split() -> None:
    state = KafkaPartitionSplitState(KafkaPartitionSplit("orders", 0))
    state.current_offset = -7
    with pytest.raises(InvalidValue, match="not -7"):
        state.to_split()


def test_how_far_a_split_has_been_read_does_not_matter_for_equality() -> None:
    split = KafkaPartitionSplit("orders", 0, 5)
    state, other = KafkaPartitionSplitState(split), KafkaPartitionSplitState(split)
    other.current_offset = 9
    assert split == state == other
    assert hash(split) == hash(state) == hash(other)
    assert state != KafkaPartitionSplit("orders", 0, 6)
