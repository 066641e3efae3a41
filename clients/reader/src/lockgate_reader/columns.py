"""Converts records to Arrow batches. Only this module imports pyarrow (the extra `arrow`)."""

from array import array

import pyarrow as pa
import pyarrow.compute as pc

from lockgate.flink.elements import NO_TIMESTAMP
from lockgate_reader.kafka import keys, offsets, values
from lockgate_reader.reading.split import Piece

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


class Columns:
    """Builds one Arrow batch from records. `rows` counts the records added so far."""

    def __init__(self) -> None:
        self._topics: dict[str, int] = {}
        self._topic, self._partition, self._offset, self._time = array("i"), array("i"), array("q"), array("q")
        self.rows = 0
        self._key: list[bytes | None] = []
        self._value: list[bytes | None] = []

    def add(self, piece: Piece) -> None:
        topic, partition = piece.split.key
        messages, count = piece.messages, len(piece.messages)
        self.rows += count
        self._topic.extend(array("i", [self._topics.setdefault(topic, len(self._topics))]) * count)
        self._partition.extend(array("i", [partition]) * count)
        # An array is created from a list in one call, but extended by a list item by item.
        self._offset.extend(array("q", offsets(messages)))
        self._time.extend(array("q", piece.times))
        self._key += keys(messages)
        self._value += values(messages)

    def batch(self) -> pa.RecordBatch:
        times = _column(self._time, pa.int64())
        if pc.min(times).as_py() == NO_TIMESTAMP:
            times = pc.if_else(pc.equal(times, NO_TIMESTAMP), None, times)
        columns = [
            pa.DictionaryArray.from_arrays(_column(self._topic, pa.int32()), pa.array(list(self._topics))),
            _column(self._partition, pa.int32()),
            _column(self._offset, pa.int64()),
            times.cast(SCHEMA.field("timestamp").type),
            pa.array(self._key, pa.binary()),
            pa.array(self._value, pa.binary()),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _column(values: "array[int]", kind: pa.DataType) -> pa.Array:
    """Return an Arrow column that shares the memory of `values`."""
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])
