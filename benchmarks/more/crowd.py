"""The cost of one moment that changes every reader of a large group: all are lost, or excused after
an outage, at once.

    python -m benchmarks.more.crowd [--readers 100000] [--rounds 5]

In processor seconds, medians and (spread); nobody else in the process gets on meanwhile. "One by
one" is the same moment with each reader put in its place by itself, in place of all of them at
once.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from unittest.mock import patch

import lockgate.group.readers
from lockgate.group.alignment import evaluate
from lockgate.group.group import Group, create
from lockgate.group.leases import after_silence
from lockgate.group.reader import Reader
from lockgate.group.readers import Readers
from lockgate.wire.events import GroupConfig, ReportedWatermarkEvent

NOW = 1_800_000_000_000
LATER = NOW + 100_000

MOMENTS: dict[str, Callable[[Group], object]] = {
    "all lost": lambda group: evaluate(group, LATER),
    "all excused": lambda group: after_silence(group, LATER),
}


def crowd(readers: int) -> Group:
    """Make a group whose readers were all heard within ten seconds, each at its own time, and offer
    a reach.
    """
    reports = (
        ReportedWatermarkEvent(subtask=n, epoch=1, watermark=NOW + n, reach=NOW + n + 1_000) for n in range(readers)
    )
    found = {
        ("s", each.subtask): Reader(epoch=1, heard_at=NOW + each.subtask % 10_000, reported=each) for each in reports
    }
    group = replace(create("g", GroupConfig(), NOW), readers=Readers.of(found), started=True, heard_at=NOW + 10_000)
    return evaluate(group, NOW + 10_000)[0]


def spent(moment: Callable[[Group], object], readers: int) -> float:
    group = crowd(readers)
    began = time.process_time()
    moment(group)
    return time.process_time() - began


def told(found: list[float]) -> str:
    return f"{statistics.median(found):.2f} s ({min(found):.2f}–{max(found):.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readers", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    for name, moment in MOMENTS.items():
        at_once, one_by_one = [], []
        for _ in range(chosen.rounds):
            at_once.append(spent(moment, chosen.readers))
            with patch.object(lockgate.group.readers, "_MANY", chosen.readers):
                one_by_one.append(spent(moment, chosen.readers))
        print(f"{name:12} {told(at_once)}, one by one {told(one_by_one)}")


if __name__ == "__main__":
    main()
