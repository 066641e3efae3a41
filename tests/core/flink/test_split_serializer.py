"""The bytes of a Kafka split."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.errors import InvalidValue, UnreadableBytes
from lockgate.flink.split_serializer import KafkaPartitionSplitSerializer, decode_modified_utf8, encode_modified_utf8
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.watermark import MAX, MIN

SERIALIZER = KafkaPartitionSplitSerializer()
TOPICS = st.text(st.characters(exclude_categories=[]), max_size=12)
SPLITS = st.builds(
    KafkaPartitionSplit.as_flink,
    TOPICS,
    st.integers(-(2**31), 2**31 - 1),
    st.integers(0, MAX) | st.sampled_from([-1, -2, -3, MIN]),
    st.integers(0, MAX) | st.sampled_from([-1, -3, MIN]),
)


@given(SPLITS, st.integers(-1, 3), st.binary(max_size=3))
def test_a_split_comes_back_whatever_the_version_and_whatever_follows(
    split: KafkaPartitionSplit, version: int, rest: bytes
) -> None:
    assert SERIALIZER.deserialize(version, SERIALIZER.serialize(split) + rest) == split


@given(SPLITS, st.data())
def test_bytes_that_end_too_early_are_refused_wherever_they_end(
    split: KafkaPartitionSplit, data: st.DataObject
) -> None:
    whole = SERIALIZER.serialize(split)
    end = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(UnreadableBytes, match="there are"):
        SERIALIZER.deserialize(0, whole[:end])


@given(st.binary(max_size=60))
def test_garbled_bytes_are_a_split_or_an_error_of_ours(garbled: bytes) -> None:
    try:
        split = SERIALIZER.deserialize(0, garbled)
    except InvalidValue:  # UnreadableBytes is one
        return
    assert SERIALIZER.deserialize(0, SERIALIZER.serialize(split)) == split


def test_the_layout_is_flinks() -> None:
    split = KafkaPartitionSplit("topic", 1, 0, -3)
    assert SERIALIZER.serialize(split).hex() == "0005746f706963" + "00000001" + "0000000000000000" + "fffffffffffffffd"
    assert SERIALIZER.version == 0


@pytest.mark.parametrize(
    ("text", "hexadecimal"), [("a", "61"), ("\0", "c080"), ("é", "c3a9"), ("中", "e4b8ad"), ("😀", "eda0bdedb880")]
)
def test_modified_utf8_is_javas(text: str, hexadecimal: str) -> None:
    assert encode_modified_utf8(text).hex() == hexadecimal
    assert decode_modified_utf8(bytes.fromhex(hexadecimal), "topic") == text


@pytest.mark.parametrize("garbled", ["80", "c3", "c361", "e4b8", "f09f9880", "ff"])
def test_bytes_that_java_would_not_read_are_refused(garbled: str) -> None:
    topic = bytes.fromhex(garbled)
    with pytest.raises(UnreadableBytes, match="topic: is no modified UTF-8: byte 0 is 0x"):
        SERIALIZER.deserialize(0, struct.pack(">H", len(topic)) + topic + bytes(20))


def test_offsets_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidValue, match=r"starting_offset: of t-1 .* not -4"):
        SERIALIZER.deserialize(0, b"\0\1t" + struct.pack(">iqq", 1, -4, 5))


def test_a_split_that_does_not_fit_the_layout_is_refused() -> None:
    with pytest.raises(InvalidValue, match="at most 65535 bytes, not 65536"):
        SERIALIZER.serialize(KafkaPartitionSplit("t" * 65_536, 0))
    with pytest.raises(InvalidValue, match="topic: must not be null"):
        SERIALIZER.serialize(KafkaPartitionSplit.as_flink(None, 0, 0))
    with pytest.raises(InvalidValue, match="beyond 32"):
        SERIALIZER.serialize(KafkaPartitionSplit("t", 2**31))
