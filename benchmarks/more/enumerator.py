"""How long the split enumerator takes: 100,000 splits assigned, rebalanced, taken back.

    python -m benchmarks.more.enumerator [--splits 100000] [--readers 100] [--rounds 5]

Each figure is of one exchange of one reader, by processor time in ms: the list of all splits and
their assignment at once; one more reader, for whom all others give back; an exchange that only
moves the positions of one reader's splits; the lease of a reader that ends. Medians, and the spread
over the rounds.
"""

import argparse
import time

from benchmarks.tables import markdown, show, spread
from lockgate.enumerator.answers import assigned_to, wishes
from lockgate.enumerator.arrivals import LastReports
from lockgate.enumerator.exchange import create, exchange
from lockgate.enumerator.model import Enumerator
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.group.now import Now
from lockgate.steps import at_once
from lockgate.wire.events import GroupConfig
from lockgate.wire.split_events import DiscoveredSplits, SplitExchange

COLUMNS = ("", "ms of processor time")
CONFIG = GroupConfig(lease_ms=10_000, update_interval_ms=1_000)


def said(enumerator: Enumerator, subtask: int, event: SplitExchange, now_ms: int) -> tuple[Enumerator, float]:
    """Return the enumerator after an exchange with its answer, and how long both took, in ms."""
    began = time.process_time()
    reader, reports = (subtask, event.epoch), LastReports(None, "s")
    after = at_once(exchange(enumerator, reader, "s", event, CONFIG, Now(now_ms), reports)).enumerator
    wishes(after, reader, event, now_ms)
    return after, (time.process_time() - began) * 1_000


def one_round(splits: int, readers: int) -> dict[str, float]:
    """Return the figures of one round."""
    now = 1_000_000
    enumerator = create(CONFIG, now)
    for subtask in range(readers):
        enumerator, _ = said(enumerator, subtask, SplitExchange(epoch=1), now)
    now += 5_000
    listed = tuple(KafkaPartitionSplit(f"topic-{part % 100}", part // 100, 0) for part in range(splits))
    event = SplitExchange(
        epoch=1, discovered=DiscoveredSplits(splits=listed, request=1_000_000), discovery_interval_ms=0
    )
    found: dict[str, float] = {}
    enumerator, found["listed and assigned"] = said(enumerator, 0, event, now)
    assert enumerator.count() == splits
    assert not enumerator.free
    held = assigned_to(enumerator, (1, 1))
    enumerator, found["a snapshot of one reader"] = said(enumerator, 1, SplitExchange(epoch=1, held=held), now)
    more, found["one more reader"] = said(enumerator, readers, SplitExchange(epoch=1), now)
    assert any(reader.revoked for reader in more.readers.values())
    for later_ms in range(0, CONFIG.lease_ms, CONFIG.lease_ms // 4):
        for subtask in range(1, readers):
            enumerator, _ = said(enumerator, subtask, SplitExchange(epoch=1), now + later_ms)
    now += CONFIG.lease_ms
    enumerator, found["a lost reader's splits"] = said(enumerator, 1, SplitExchange(epoch=1), now)
    assert len(enumerator.readers) == readers - 1
    assert not enumerator.free
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=100_000)
    parser.add_argument("--readers", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    rounds = [one_round(args.splits, args.readers) for _ in range(args.rounds)]
    found = {name: [each[name] for each in rounds] for name in rounds[0]}
    show("enumerator", markdown(COLUMNS, [(name, spread(times, ".1f")) for name, times in found.items()]), found)


if __name__ == "__main__":
    main()
