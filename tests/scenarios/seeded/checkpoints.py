"""A query's batches by its checkpoint: where they ended, when they were planned, and which were
committed.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from seeded.played import Split

ToSplit = Callable[[int, str, str], Split]
"""By the number of a source, a topic's name and a partition's number, as Kafka has them."""


@dataclass(frozen=True, slots=True)
class Logged:
    """A batch in the offset log; `logged_at` by the machine's clock in ms, `watermark` in ms."""

    number: int
    logged_at: float
    watermark: int
    ends: Mapping[Split, int]


def logged(checkpoint: Path, split: ToSplit, known: dict[int, Logged]) -> list[Logged]:
    """The committed batches, in order. `known`: batches that were parsed already; grows."""
    numbers = _committed(checkpoint)
    for number in numbers:
        if number not in known:
            known[number] = _parse(checkpoint / "offsets" / str(number), number, split)
    return [known[number] for number in numbers]


def next_number(checkpoint: Path) -> int:
    """The number of the batch that a run would begin with."""
    return max(_committed(checkpoint), default=-1) + 1


def _committed(checkpoint: Path) -> list[int]:
    return sorted(int(file.name) for file in (checkpoint / "commits").glob("*") if file.name.isdecimal())


def begins(checkpoint: Path, split: ToSplit) -> dict[Split, int]:
    """Where the sources began, each in a file of its own that opens with a byte for versions before
    2.1.
    """
    found: dict[Split, int] = {}
    for file in (checkpoint / "sources").glob("*/0"):
        _, _, text = file.read_bytes().decode().partition("\n")
        found |= _offsets(int(file.parent.name), text, split)
    return found


def _parse(file: Path, number: int, split: ToSplit) -> Logged:
    version, metadata, *sources = file.read_text().splitlines()
    ends: dict[Split, int] = {}
    for place, line in enumerate(sources):
        # format 1 has the sources by place, format 2 each with its number
        source, text = (str(place), line) if version == "v1" else line.split(":", 1)
        ends |= {} if text == "-" else _offsets(int(source), text, split)
    return Logged(number, file.stat().st_mtime * 1000, int(json.loads(metadata)["batchWatermarkMs"]), ends)


def _offsets(source: int, text: str, split: ToSplit) -> dict[Split, int]:
    return {
        split(source, topic, partition): offset
        for topic, of in json.loads(text).items()
        for partition, offset in of.items()
    }
