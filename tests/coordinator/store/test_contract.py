"""The contract of all stores (store/base.py): memory, a real Redis and a
real Redis Cluster.
"""

import asyncio
from dataclasses import MISSING, fields, replace

from lockgate.group.group import Act, Group, create
from lockgate.group.reader import Arriving, Reader
from lockgate.group.readers import Readers
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import (
    GroupConfig,
    Mode,
    ProgressEvent,
    ReaderFacts,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    SourcePause,
    SplitProgress,
    SplitReport,
    SplitState,
)
from lockgate_coordinator.store import Store, open_store
from lockgate_coordinator.store.base import JOURNAL_KEPT, JournalSpan, NotDiscarded
from support.turns import progress, register, report


async def created(store: Store, name: str = "g", config: GroupConfig | None = None) -> Group:
    loaded = await store.load(name)
    group = create(name, config or GroupConfig(), loaded.now_ms, floor=loaded.version)
    assert await store.commit(loaded, group) is None
    return group


def full(group: Group, now_ms: int) -> Group:
    """Return a group with a value in every field."""
    group = register(
        group, "a:b", ReaderRegistrationEvent(subtask=7, owner="ü", attributes={"k": "v"}, ceiling=MIN + 1), now_ms
    )
    epoch = group.readers["a:b", 7].epoch
    splits = {"p-0": SplitReport(watermark=MIN, state=SplitState.CAUGHT_UP, position=2**63 - 1, end=3, rows=4)}
    facts = ReaderFacts(
        late_rows=MAX, rows_saved=1, retained_until=MAX, retention_split="p-0", producer_lag_ms=2, event_time_rate=3
    )
    event = ReportedWatermarkEvent(
        subtask=7, epoch=epoch, watermark=2**53 + 1, reach=MAX, batch_id=9, facts=facts, splits=splits
    )
    group = report(group, "a:b", event, now_ms)
    step = {"p-0": SplitProgress(watermark=2**62 + 1, position=5, rows=6)}
    group = progress(group, "a:b", ProgressEvent(subtask=7, epoch=epoch, batch_id=9, attempt=1, splits=step), now_ms)
    reader = group.readers["a:b", 7]
    assert reader.reported is not None
    reader = reader._replace(
        reported=replace(reader.reported, idle=True, finished=True, park_ms=2),
        excused=True,
        lost=True,
        progressed_at=now_ms - 1,
        held_since=now_ms - 2,
        overdue=True,
        passed_over=True,
        splits_named=True,
        progress_ignored=3,
        arriving=Arriving(split="a-2", watermark=2**62),
    )
    return replace(
        group,
        readers=Readers.of({("a:b", 7): reader}),
        left_epoch=2**62,
        group_watermark=-1,
        max_desired_watermark=1,
        cap=2**61,
        started=True,
        sources_seen=frozenset({"a:b"}),
        heard_at=now_ms,
        losses_at=now_ms,
        configured_at=now_ms,
        acts=(Act("a", 2**62, created=True),),
        paused_sources=(SourcePause(source="a", at=now_ms, by="ops", reason="the sink is away"),),
    )


def test_full_has_a_value_in_every_field_that_a_store_keeps() -> None:
    """A new field fails here until `full` sets it; then the next test says whether a store keeps
    it.
    """
    group = full(create("g", GroupConfig(max_drift_ms=1), 1), 1)
    (reader,) = group.readers.values()
    assert reader.reported is not None
    (split,) = reader.reported.splits.values()
    assert {name for name, default in Reader._field_defaults.items() if getattr(reader, name) == default} == set()
    records = (group, reader.reported, reader.reported.facts, split)
    assert [
        (type(record).__name__, each.name)
        for record in records
        for each in fields(record)
        if getattr(record, each.name) == (each.default if each.default_factory is MISSING else each.default_factory())
    ] == []


async def test_an_unknown_group_is_none_at_version_0(store: Store) -> None:
    loaded = await store.load("g")
    assert (loaded.version, loaded.group) == (0, None)
    assert loaded.now_ms > 1_600_000_000_000


async def test_a_loaded_group_is_exactly_the_committed_one(store: Store, store_address: str) -> None:
    config = GroupConfig(max_drift_ms=2**53 + 1, mode=Mode.OBSERVE, expected_sources=("a:b", "c"))
    await created(store, config=config)
    loaded = await store.load("g")
    assert loaded.group is not None
    group = full(loaded.group, loaded.now_ms)
    assert await store.commit(loaded, group) is None
    assert (await store.load("g")).group == group
    if store.shared:
        stranger = open_store(store_address)
        assert (await stranger.load("g")).group == group
        await stranger.close()


async def test_one_of_two_commits_of_one_version_wins(store: Store) -> None:
    group = await created(store)
    loaded = await store.load("g")
    assert await store.commit(loaded, replace(group, heard_at=1)) is None
    assert await store.commit(loaded, replace(group, heard_at=2)) is not None
    after = (await store.load("g")).group
    assert after is not None
    assert after.heard_at == 1


async def test_a_refused_commit_answers_what_the_store_holds_instead(store: Store, store_address: str) -> None:
    group = await created(store)
    loaded = await store.load("g")
    other = open_store(store_address) if store.shared else store
    assert (
        await other.commit(await other.load("g"), register(group, "a", ReaderRegistrationEvent(subtask=0), 1)) is None
    )
    instead, after = await store.commit(loaded, group), await other.load("g")
    assert instead is not None
    assert (instead.confirmed, instead.version, instead.group) == (True, after.version, after.group)
    await other.close()


async def test_a_cached_group_is_the_one_committed_last_and_can_be_committed_on(store: Store) -> None:
    group = await created(store)
    for heard_at in range(3):
        cached = store.cached("g")
        assert cached is not None
        base = cached or await store.load("g")
        assert base.group == group
        group = replace(group, heard_at=heard_at)
        assert await store.commit(base, group) is None
    assert (await store.load("g")).group == group


async def test_racing_commits_lose_no_update(store: Store, store_address: str) -> None:
    group = await created(store)
    stores = [store, open_store(store_address)] if store.shared else [store, store]

    async def add(each: Store) -> None:
        for _ in range(20):
            while True:
                loaded = await each.load("g")
                assert loaded.group is not None
                await asyncio.sleep(0)
                if await each.commit(loaded, replace(loaded.group, left_epoch=loaded.group.left_epoch + 1)) is None:
                    break

    await asyncio.gather(*(add(each) for each in stores))
    after = (await store.load("g")).group
    assert after is not None
    assert after.left_epoch == group.left_epoch + 40


async def test_the_version_rises_with_every_commit_and_over_a_delete(store: Store) -> None:
    versions = []
    for _ in range(3):
        await created(store)
        versions.append((await store.load("g")).version)
        assert isinstance(await store.discard("g"), int)
        versions.append((await store.load("g")).version)
    assert versions == sorted(set(versions))
    assert versions[0] > 0


async def test_a_successor_begins_above_all_that_a_deleted_group_gave_out(store: Store) -> None:
    group = await created(store)
    loaded = await store.load("g")
    ahead = loaded.now_ms + 10**9
    assert await store.commit(loaded, replace(group, left_epoch=ahead)) is None
    assert isinstance(await store.discard("g"), int)
    successor = await created(store)
    assert successor.revision > ahead
    assert register(successor, "a", ReaderRegistrationEvent(subtask=0), 1).readers["a", 0].epoch > ahead


async def test_a_delete_of_an_older_version_changes_nothing(store: Store) -> None:
    group = await created(store)
    loaded = await store.load("g")
    assert await store.commit(loaded, replace(group, heard_at=1)) is None
    assert await store.discard("g", only=loaded) is NotDiscarded.CHANGED
    assert (await store.load("g")).group is not None
    assert await store.names("", 10) == ["g"]


async def test_discarded_group_is_gone_and_its_readers_are_counted(store: Store) -> None:
    group = await created(store)
    loaded = await store.load("g")
    assert await store.commit(loaded, register(group, "a", ReaderRegistrationEvent(subtask=0), loaded.now_ms)) is None
    assert await store.discard("g") == 1
    assert (await store.load("g")).group is None
    assert (await store.names("", 10), await store.count()) == ([], 0)
    assert await store.discard("g") is NotDiscarded.NO_GROUP
    assert await store.discard("h") is NotDiscarded.NO_GROUP


async def test_a_successor_begins_above_all_that_a_discarded_group_gave_out(store: Store) -> None:
    for _ in range(2):
        group = await created(store)
        loaded = await store.load("g")
        ahead = group.revision + 10**9
        assert await store.commit(loaded, replace(group, left_epoch=ahead)) is None
        assert await store.discard("g") == 0
        successor = await created(store)
        assert successor.revision > ahead
        assert await store.discard("g") == 0


async def test_names_come_in_order_a_page_at_a_time_without_deleted_groups(store: Store) -> None:
    for name in ("b", "a", "Z", "a:1", "c"):
        await created(store, name)
    assert isinstance(await store.discard("c"), int)
    assert await store.names("", 3) == ["Z", "a", "a:1"]
    assert await store.names("a:1", 3) == ["b"]


async def test_groups_do_not_touch_each_other(store: Store) -> None:
    first, second = await created(store, "g"), await created(store, "g:state")
    assert isinstance(await store.discard("g"), int)
    assert (await store.load("g")).group is None
    assert (await store.load("g:state")).group == second != first


async def test_journal_keeps_its_newest_entries_and_goes_with_its_group(store: Store) -> None:
    await store.append_journal("g", ["a group that is not there has no journal"])
    assert await store.read_journal("g", JournalSpan(), 10) == []
    await created(store, "g")
    await store.append_journal("g", ["one", "two"])
    await store.append_journal("g", ["three"])
    newest = await store.read_journal("g", JournalSpan(), 10)
    assert [text for _, text in newest] == ["three", "two", "one"]
    assert await store.read_journal("g", JournalSpan(newest_first=False), 10) == newest[::-1]
    (three, _), (two, _), (one, _) = newest
    assert await store.read_journal("g", JournalSpan(before=three), 1) == newest[1:2]
    assert await store.read_journal("g", JournalSpan(after=one, newest_first=False), 1) == newest[1:2]
    assert await store.read_journal("g", JournalSpan(after=one, before=three), 10) == newest[1:2]
    assert await store.read_journal("g", JournalSpan(after=two, before=three), 10) == []
    await store.append_journal("g", [str(number) for number in range(3 * JOURNAL_KEPT)])
    kept = await store.read_journal("g", JournalSpan(), 10 * JOURNAL_KEPT)
    assert JOURNAL_KEPT <= len(kept) < 2 * JOURNAL_KEPT
    assert kept[0][1] == str(3 * JOURNAL_KEPT - 1)
    assert await store.discard("g") == 0
    assert await store.read_journal("g", JournalSpan(), 10) == []
    await created(store, "g")
    assert await store.read_journal("g", JournalSpan(), 10) == []
    assert isinstance(await store.discard("g"), int)
    assert await store.read_journal("g", JournalSpan(), 10) == []


async def test_samples_are_kept_once_a_step_and_go_with_their_group(store: Store) -> None:
    await store.append_sample("g", "a group that is not there has no samples")
    assert await store.read_samples("g") == []
    await created(store, "g")
    await store.append_sample("g", "one")
    await store.append_sample("g", "another one too soon")
    assert [text for _, text in await store.read_samples("g")] == ["one"]
    assert await store.discard("g") == 0
    assert await store.read_samples("g") == []
