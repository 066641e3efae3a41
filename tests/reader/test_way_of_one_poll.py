"""The way of one poll, from the program's loop to the records, leads through the files that
docs/internals/architecture.md lists.
"""

import re
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import lockgate_reader
from lockgate_reader import AlignedConsumer
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker

pytestmark = pytest.mark.kafka

PAGE = Path(__file__).parents[2] / "docs/internals/architecture.md"
ROOT = Path(str(lockgate_reader.__file__)).parent
T0 = 1_767_225_600_000
STATIONS = 8


class Trace:
    """The files of the reader that each poll calls, in the order of their first calls."""

    def __init__(self) -> None:
        self.polls: list[dict[str, None]] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(f"{ROOT}/"):
            file = Path(frame.f_code.co_filename).relative_to(ROOT).as_posix()
            if file == "consumer.py":
                self.polls.append({})
            self.polls[-1].setdefault(file)


def traced(consumer: AlignedConsumer) -> list[list[str]]:
    """Trace the polls for the next records, between turns."""
    records = iter(consumer)
    list(islice(records, 20))
    reader, trace = consumer._reader, Trace()
    assert reader is not None
    reader._next_turn = 10**18
    sys.setprofile(trace)
    try:
        list(islice(records, 70_000))
    finally:
        sys.setprofile(None)
    return [list(files) for files in trace.polls]


def listed() -> tuple[list[str], set[str]]:
    """The stations of the page's list, and the files of the modules that they call."""
    section = PAGE.read_text().partition("## The way of one poll\n")[2].partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| \d+ \| \[[^\]]*\]\([^)]*/src/lockgate_reader/([^)]*)\) \|(.*)\|$", section)
    return [station for station, _ in rows], {
        module.replace(".", "/") + ".py" for _, rest in rows for module in re.findall(r"`([\w.]+)`", rest)
    }


def test_way_of_one_poll_is_the_one_on_the_architecture_page(
    kafka: KafkaBroker, topic: str, consumer_of: Callable[..., AlignedConsumer]
) -> None:
    counts = (200, 100_000)  # the first one waits for the other, of which half may be fetched ahead
    topics.fill(kafka.bootstrap, topic, [[(T0 + n * 3_600_000 // count, n) for n in range(count)] for count in counts])
    polls, (stations, called) = traced(consumer_of(topic, max_drift="1 minute")), listed()
    # A poll may find its piece before the last station, or fetch once before it decides.
    assert stations in [[file for file in files if file in stations] for files in polls]
    assert {file for files in polls for file in files} - set(stations) == called
    assert len(stations) <= STATIONS
