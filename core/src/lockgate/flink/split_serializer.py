"""The bytes of a Kafka split, as Flink's `KafkaPartitionSplitSerializer` writes them (version 0).

    topic       2 bytes of length, then modified UTF-8 (below)
    partition   int
    starting    long
    stopping    long, MIN for none                                   all big endian

Modified UTF-8 is Java's: U+0000 takes two bytes (C0 80), and a character beyond U+FFFF is written
as its two surrogates, three bytes each. As in Flink, `deserialize` ignores the version and any
bytes after the last field.
"""

import struct

from lockgate.errors import InvalidValue, UnreadableBytes
from lockgate.flink.splits import KafkaPartitionSplit

_LENGTH = struct.Struct(">H")
_NUMBERS = struct.Struct(">iqq")


def encode_modified_utf8(text: str) -> bytes:
    """Return `text` in modified UTF-8, without a length. Unpaired surrogates are encoded, too."""
    units = text.encode("utf-16-be", "surrogatepass")
    out = bytearray()
    for high, low in zip(units[::2], units[1::2], strict=True):
        unit = high << 8 | low
        if 0 < unit < 0x80:
            out.append(unit)
        elif unit < 0x800:
            out += bytes((0xC0 | unit >> 6, 0x80 | unit & 0x3F))
        else:
            out += bytes((0xE0 | unit >> 12, 0x80 | unit >> 6 & 0x3F, 0x80 | unit & 0x3F))
    return bytes(out)


def decode_modified_utf8(data: bytes, field: str) -> str:
    """Decode modified UTF-8. Raises `UnreadableBytes` for `field` when Java's `readUTF` fails."""
    if data.isascii() and 0 not in data:  # the usual case, and a hundred times faster
        return data.decode("ascii")
    units = bytearray()
    at = 0
    while at < len(data):
        first = data[at]
        length = 1 if first < 0x80 else 2 if first >> 5 == 0b110 else 3 if first >> 4 == 0b1110 else 0
        rest = data[at + 1 : at + length]
        if not length or len(rest) != length - 1 or any(byte >> 6 != 0b10 for byte in rest):
            raise UnreadableBytes(field, f"is no modified UTF-8: byte {at} is {first:#04x}")
        unit = first & (0x7F, 0x7F, 0x1F, 0x0F)[length]
        for byte in rest:
            unit = unit << 6 | byte & 0x3F
        units += unit.to_bytes(2, "big")
        at += length
    return units.decode("utf-16-be", "surrogatepass")


class KafkaPartitionSplitSerializer:
    version = 0

    def serialize(self, split: KafkaPartitionSplit) -> bytes:
        """Return the split's bytes. Raises `InvalidValue` if the topic or a number does not fit."""
        if split.topic is None:  # `as_flink` lets it pass, as Flink's constructor does
            raise InvalidValue("topic", "must not be null to be written")
        topic = encode_modified_utf8(split.topic)
        if len(topic) > 0xFFFF:
            raise InvalidValue("topic", f"must take at most 65535 bytes, not {len(topic)}")
        try:
            numbers = _NUMBERS.pack(split.partition, split.starting_offset, split.raw_stopping_offset)
        except struct.error as error:
            raise InvalidValue(
                "split", f"{split} has numbers beyond 32 (partition) or 64 bits (offsets): {error}"
            ) from error
        return _LENGTH.pack(len(topic)) + topic + numbers

    def deserialize(self, version: int, data: bytes) -> KafkaPartitionSplit:
        """Return the split in `data`. `version` is ignored. Raises `UnreadableBytes` if `data`
        encodes no split, and `InvalidValue` for an invalid offset.
        """
        length = _LENGTH.unpack_from(self._part(data, 0, _LENGTH.size, "length of the topic"))[0]
        topic = self._part(data, _LENGTH.size, length, "topic")
        numbers = self._part(data, _LENGTH.size + length, _NUMBERS.size, "partition and offsets")
        return KafkaPartitionSplit.as_flink(decode_modified_utf8(topic, "topic"), *_NUMBERS.unpack(numbers))

    def _part(self, data: bytes, start: int, length: int, field: str) -> bytes:
        part = data[start : start + length]
        if len(part) < length:
            raise UnreadableBytes(
                field, f"needs {length} bytes from byte {start} on, of {len(data)} there are {len(part)}"
            )
        return part
