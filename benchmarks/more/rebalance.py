"""How long 1,000 splits take to be level again when readers join and leave: `make bench-rebalance`.

The readers are the real places of `lockgate_reader` on one coordinator process. What reads Kafka
is left out: a split that is to be given back is given back at once. Measured is the time from the
start of a reader, or from the end of one, until each has its share, in update intervals.
"""

import argparse
import threading
import time
from collections.abc import Sequence

import httpx

from benchmarks.tables import markdown, show, spread
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate_http.config import Coordinator
from lockgate_reader import AlignedConsumer
from lockgate_reader.group.joined import JoinedPlace
from lockgate_reader.place import ReaderSplit, ReaderState
from lockgate_testbed.coordinator import CoordinatorProcess

COLUMNS = ("", "level again after update intervals")
INTERVAL_MS = 1_000
LEVEL_WITHIN_S = 60.0


class Holder:
    """A reader that holds its splits, and reads nothing."""

    def __init__(self, coordinator: Coordinator, splits: int) -> None:
        kafka = {"bootstrap.servers": "none", "topic.metadata.refresh.interval.ms": 0}
        consumer = AlignedConsumer("bench", kafka=kafka, coordinator=coordinator, starting_offsets="earliest")
        self.place = JoinedPlace(coordinator, consumer._options)
        self._listed = tuple(KafkaPartitionSplit("t", number, 0) for number in range(splits))
        self._woken, self._ends = threading.Event(), threading.Event()
        self.held: dict[str, ReaderSplit] = {}
        self._returned: dict[str, ReaderSplit] = {}
        self._discovered = False
        self.place.enter(self._woken.set)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Give everything back."""
        self._ends.set()
        self._woken.set()
        self._thread.join()
        self.place.leave(self._state())

    def _run(self) -> None:
        while not self._ends.is_set():
            self._woken.wait(0.1)
            self._woken.clear()
            orders = self.place.exchange(self._state())
            self._discovered = self._discovered or orders.discover > 0
            if orders.assigned is None:
                continue
            named = {each.split.split_id: each for each in orders.assigned}
            own = {name: each.number for name, each in named.items()}
            self.held = {name: each for name, each in self.held.items() if own.get(name) == each.number}
            self._returned = {name: each for name, each in self._returned.items() if own.get(name) == each.number}
            for name in orders.give_back - self._returned.keys():
                unopened = ReaderSplit(named[name].split, named[name].number)
                self._returned[name] = self.held.pop(name, unopened)
                self._woken.set()
            for name, each in named.items():
                if name not in self.held and name not in self._returned and name not in orders.give_back:
                    self.held[name] = ReaderSplit(each.split, each.number, watermark=0)

    def _state(self) -> ReaderState:
        held = tuple(self.held.values())
        discovered = self._listed if self._discovered else None
        return ReaderState(held=held, returned=tuple(self._returned.values()), discovered=discovered)


def level_after_s(holders: Sequence[Holder], splits: int, began: float) -> float:
    """Wait until each reader has its share, and all together every split; return the seconds."""
    least = splits // len(holders)
    while True:
        counts = [len(holder.held) for holder in holders]
        if sum(counts) == splits and min(counts) >= least and max(counts) <= least + 1:
            return time.monotonic() - began
        if time.monotonic() - began > LEVEL_WITHIN_S:
            raise SystemExit(f"not balanced within {LEVEL_WITHIN_S:.0f} s: {counts}")
        time.sleep(0.01)


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=1_000)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    with CoordinatorProcess() as process:
        config = {"max_drift_ms": 300_000, "lease_ms": 30_000, "update_interval_ms": INTERVAL_MS}
        httpx.put(f"{process.url}/v1/groups/bench", json=config, timeout=60).raise_for_status()
        coordinator = Coordinator(process.url, group="bench", timeout="30 seconds")
        began = time.monotonic()
        holders: list[Holder] = []
        for _ in range(chosen.readers - 1):
            holders.append(Holder(coordinator, chosen.splits))
            while holders[-1].place._subtask < 0:  # one number after the other
                time.sleep(0.01)
        first = level_after_s(holders, chosen.splits, began)
        joins, leaves = [], []
        for _ in range(chosen.rounds):
            began = time.monotonic()
            holders.append(Holder(coordinator, chosen.splits))
            joins.append(level_after_s(holders, chosen.splits, began))
            leaver = holders.pop(0)
            began = time.monotonic()
            leaver.leave()
            leaves.append(level_after_s(holders, chosen.splits, began))
        for holder in holders:
            holder.leave()
    rows = [
        (name, spread([each * 1_000 / INTERVAL_MS for each in times], ".2f"))
        for name, times in (("one more reader joins", joins), ("one reader leaves", leaves))
    ]
    show("rebalance", markdown(COLUMNS, rows), {"first_s": first, "joins_s": joins, "leaves_s": leaves})


if __name__ == "__main__":
    main()
