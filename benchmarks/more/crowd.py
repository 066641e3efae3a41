"""The cost of one moment that changes every reader of a large group: all are lost, or excused after
an outage, at once.

    python -m benchmarks.more.crowd [--readers 10000] [--rounds 5]

Prints processor milliseconds, medians and (spread), in which the process serves no other request.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

from lockgate.group.alignment import evaluate
from lockgate.group.group import Group, create
from lockgate.group.leases import after_silence
from lockgate.group.now import Now
from lockgate.group.reader import Reader
from lockgate.group.readers import Readers
from lockgate.wire.events import GroupConfig, ReportedWatermarkEvent

NOW = 1_800_000_000_000
LATER = NOW + 100_000

MOMENTS: dict[str, Callable[[Group], object]] = {
    "all lost": lambda group: evaluate(group, Now(LATER)),
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
    return evaluate(group, Now(NOW + 10_000))[0]


def spent(moment: Callable[[Group], object], readers: int) -> float:
    group = crowd(readers)
    began = time.process_time()
    moment(group)
    return time.process_time() - began


def told(found: list[float]) -> str:
    return f"{1e3 * statistics.median(found):.0f} ms ({1e3 * min(found):.0f}–{1e3 * max(found):.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readers", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    for name, moment in MOMENTS.items():
        print(f"{name:12} {told([spent(moment, chosen.readers) for _ in range(chosen.rounds)])}")


if __name__ == "__main__":
    main()
