"""The splits of a source in a checkpoint: the bytes of each split after a header with the
serializer's version (Flink's `SimpleVersionedSerialization`).

    int version │ int length │ the split's bytes          big endian
"""

import struct
from collections.abc import Sequence
from typing import TypeVar

from lockgate.errors import UnreadableBytes
from lockgate.flink.source.operator_events import SourceSplit, SplitSerializer

S = TypeVar("S", bound=SourceSplit)

_HEADER = struct.Struct(">ii")


def write_splits(splits: Sequence[S], serializer: SplitSerializer[S]) -> tuple[bytes, ...]:
    """Return the entries of a checkpoint, one for each split. Raises the serializer's errors."""
    entries = ((serializer.version, serializer.serialize(split)) for split in splits)
    return tuple(_HEADER.pack(version, len(data)) + data for version, data in entries)


def read_splits(state: Sequence[bytes], serializer: SplitSerializer[S]) -> list[S]:
    """Return the splits that the checkpoint entries `state` encode. Raises `UnreadableBytes` if an
    entry's length does not match its header, and the serializer's errors.
    """
    splits = []
    for position, entry in enumerate(state):
        if len(entry) < _HEADER.size:
            raise UnreadableBytes(
                f"split {position}", f"has {len(entry)} bytes, which is less than its header of {_HEADER.size}"
            )
        version, length = _HEADER.unpack_from(entry)
        if length != len(entry) - _HEADER.size:
            raise UnreadableBytes(f"split {position}", f"says {length} bytes and has {len(entry) - _HEADER.size}")
        splits.append(serializer.deserialize(version, entry[_HEADER.size :]))
    return splits
