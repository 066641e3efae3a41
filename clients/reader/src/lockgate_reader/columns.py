"""Records as Arrow columns. The only module that knows pyarrow, the extra `arrow`."""

from array import array
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lockgate.flink.elements import NO_TIMESTAMP
from lockgate_reader.reading.pieces import GoneOut

SCHEMA = pa.schema(
    [
        pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("ms", tz="UTC")),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
    ]
)


def batch_of(pieces: Sequence[GoneOut]) -> pa.RecordBatch:
    """One batch of the records that have gone out, split by split."""
    topics = list(dict.fromkeys(piece.key[0] for piece in pieces))
    topic, partition, offset, times = array("i"), array("i"), array("q"), array("q")
    messages: list[Any] = []
    for piece in pieces:
        count = len(piece.messages)
        topic.extend(array("i", [topics.index(piece.key[0])]) * count)
        partition.extend(array("i", [piece.key[1]]) * count)
        # An array is made of a list at once, and extended by a list one by one.
        offset.extend(array("q", _offsets(piece.messages)))
        times.extend(array("q", list(piece.times)))
        messages += piece.messages
    columns = [
        pa.DictionaryArray.from_arrays(_column(topic, pa.int32()), pa.array(topics)),
        _column(partition, pa.int32()),
        _column(offset, pa.int64()),
        _timestamps(_column(times, pa.int64())),
        pa.array([message.key() for message in messages], pa.binary()),
        pa.array([message.value() for message in messages], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _column(values: "array[int]", kind: pa.DataType) -> pa.Array:
    """The numbers as they lie in memory, without a copy."""
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def _offsets(messages: Sequence[Any]) -> list[int]:
    first, last = messages[0].offset(), messages[-1].offset()
    if last - first == len(messages) - 1:  # the usual case: no gaps
        return list(range(first, last + 1))
    return [message.offset() for message in messages]


def _timestamps(times: pa.Array) -> pa.Array:
    if pc.min(times).as_py() == NO_TIMESTAMP:
        times = pc.if_else(pc.equal(times, NO_TIMESTAMP), None, times)
    return times.cast(pa.timestamp("ms", tz="UTC"))
