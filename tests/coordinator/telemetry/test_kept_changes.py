"""Changes on their way to the store."""

import asyncio
import json
from collections.abc import Sequence

from lockgate_coordinator.store.base import StoreUnavailable
from lockgate_coordinator.store.memory import MemoryStore
from lockgate_coordinator.telemetry.changes import Change, Kind
from lockgate_coordinator.telemetry.kept_changes import ENTRY_SIZE, MOST_WAITING, KeptChanges, entry


class Notebook(MemoryStore):
    """A store that takes entries, once it is `there`."""

    def __init__(self) -> None:
        super().__init__()
        self.there = True
        self.entries: list[tuple[str, str]] = []

    async def append_journal(self, name: str, entries: Sequence[str]) -> None:
        await asyncio.sleep(0)
        if not self.there:
            raise StoreUnavailable("away")
        self.entries += [(name, json.loads(each)["reason"]) for each in entries]


def change(reason: str, group: str = "g", **details: object) -> Change:
    return Change(Kind.REGISTERED, group, "a", 0, reason, details)


async def test_entries_are_written_in_their_order_and_the_last_ones_at_the_end() -> None:
    store = Notebook()
    kept = KeptChanges(store)
    for number in range(5):
        kept.keep(change(str(number)), None)
        await asyncio.sleep(0)
    await kept.close()
    assert store.entries == [("g", str(number)) for number in range(5)]


async def test_entries_wait_while_the_store_is_away_and_keep_their_order() -> None:
    store = Notebook()
    store.there = False
    kept = KeptChanges(store)
    kept.keep(change("first"), None)
    while kept._task is not None and not kept._task.done():
        await asyncio.sleep(0)
    store.there = True
    kept.keep(change("second"), None)
    await kept.close()
    assert store.entries == [("g", "first"), ("g", "second")]


async def test_no_more_than_so_many_entries_wait() -> None:
    store = Notebook()
    store.there = False
    kept = KeptChanges(store)
    for _ in range(MOST_WAITING + 3):
        kept.keep(change("x"), None)
    assert kept.left_out == 3
    store.there = True
    await kept.close()
    assert len(store.entries) == MOST_WAITING
    kept.keep(change("there is room again"), None)
    await kept.close()
    assert len(store.entries) == MOST_WAITING + 1


def test_an_entry_of_any_length_is_cut_to_its_bound_and_stays_json() -> None:
    long = change("long", owner="x" * 10_000, changed={"expected_sources": [f"s{n}" for n in range(5_000)]})
    cut = json.loads(entry(long, "ops"))
    owner, expected = cut["details"]["owner"], cut["details"]["changed"]["expected_sources"]
    assert (cut["by"], len(owner), len(expected)) == ("ops", 201, 21)
    worst = change("worst", **{f"key{n}": "x" * 200 for n in range(100)})
    assert json.loads(entry(worst, None))["details"] == {}
    assert len(entry(worst, None)) <= ENTRY_SIZE
