"""Processor time of one report step by step, without sockets and Redis: of one process, in µs.

    python -m benchmarks.more.steps              commits of 32 reports, and of 10,000

`decode` reads the body. `turn` is the core's. `journal` lists what has changed, and `write` makes
the records for Redis. Another process does `read` and `apply` with those records. The figures are
the median of the commits, and the least. The steps touch much memory, so they are slower while
other processes use the cache.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from benchmarks.tables import markdown, show, spread
from lockgate.group.commands import Register, Reports
from lockgate.group.group import Group, create
from lockgate.group.now import Now
from lockgate.group.turn import turn as turned
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent
from lockgate_coordinator.api.bodies import decoded
from lockgate_coordinator.store.records import encode, reader_from
from lockgate_coordinator.telemetry.changes import are_ordinary, moved

COLUMNS = ("in", "step", "µs a report")
NOW = 1_795_268_813_854
T = TypeVar("T")


def group_of(readers: int) -> Group:
    group = create("bench", GroupConfig(lease_ms=3_600_000, max_drift_ms=1_000), NOW)
    registrations = [Register("s", ReaderRegistrationEvent(subtask=subtask)) for subtask in range(readers)]
    return turned(group, registrations, Now(NOW)).group


def steps(readers: int, turns: int) -> dict[str, list[float]]:
    """µs a report of each step, commit by commit."""
    found: dict[str, list[float]] = {}

    def timed(name: str, step: Callable[[], T]) -> T:
        began = time.process_time()
        made = step()
        found.setdefault(name, []).append((time.process_time() - began) / readers * 1e6)
        return made

    group = group_of(readers)
    epochs = [group.readers["s", subtask].epoch for subtask in range(readers)]
    for turn in range(turns):
        now, before = NOW + 1_000 + turn, group
        bodies = [b'{"subtask":%d,"epoch":%d,"watermark":%d}' % (n, epoch, now) for n, epoch in enumerate(epochs)]
        events = timed("decode", lambda bodies=bodies: [decoded(ReportedWatermarkEvent, body) for body in bodies])  # type: ignore[misc]
        said = [("s", event) for event in events]
        group = timed("turn", lambda group=group, said=said, now=now: turned(group, [Reports(said)], Now(now)).group)  # type: ignore[misc]
        changed = timed("journal", lambda before=before, group=group: moved(before, group))  # type: ignore[misc]
        assert are_ordinary(before, group, changed) or turn == 0
        texts = timed("write", lambda changed=changed: [encode(reader) for _, _, reader in changed])  # type: ignore[misc]
        read = timed("read", lambda texts=texts: [reader_from(text) for text in texts])  # type: ignore[misc]
        news = {key: reader for (key, _, _), reader in zip(changed, read, strict=True)}
        timed("apply", lambda group=group, news=news: group.readers.updated(news))  # type: ignore[misc]
    return found


def main() -> None:
    found = {readers: steps(readers, turns) for readers, turns in ((32, 500), (10_000, 7))}
    rows = [
        (f"{readers:,} reports a commit", name, spread(each, ".2f"))
        for readers, of in found.items()
        for name, each in of.items()
    ]
    show("steps", markdown(COLUMNS, rows), found)


if __name__ == "__main__":
    main()
