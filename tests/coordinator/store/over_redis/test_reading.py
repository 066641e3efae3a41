"""Groups in a real Redis that are large, change while they are read, or are damaged."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest
from redis import Redis

from lockgate.group.group import Group, create
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent
from lockgate_coordinator.store import Store, StoreUnavailable, UnreadableGroup, keys, open_store, states
from lockgate_coordinator.store.base import NotDiscarded
from lockgate_coordinator.store.connections import Connections, Script
from lockgate_testbed.redis import RedisServer
from support.turns import evict, register

pytestmark = pytest.mark.redis

STATE = keys.state("g")
READER = keys.reader_field(("a", 0))
MIB = 1_048_576


@pytest.fixture
async def stranger(redis_server: RedisServer) -> AsyncIterator[Store]:
    """A process that has not seen the group."""
    opened = open_store(redis_server.url)
    yield opened
    await opened.close()


async def registered(store: Store, source: str, subtask: int, size: int = 0) -> Group:
    loaded = await store.load("g")
    group = loaded.group or create("g", GroupConfig(), loaded.now_ms, floor=loaded.version)
    event = ReaderRegistrationEvent(subtask=subtask, attributes={"x": "x" * size})
    after = register(group, source, event, loaded.now_ms)
    assert await store.commit(loaded, after) is None
    return after


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The size of each script's answer."""
    sizes, run = list[int](), Connections.run

    async def measured(self: Connections, script: Script, names: Sequence[str], args: Any, **more: Any) -> Any:
        answer = await run(self, script, names, args, **more)
        sizes.append(len(json.dumps(answer)))
        return answer

    monkeypatch.setattr(Connections, "run", measured)
    return sizes


async def test_group_of_any_size_is_read_in_parts_of_one_mebibyte(
    store: Store, stranger: Store, answers: list[int]
) -> None:
    for subtask in range(24):
        group = await registered(store, "a", subtask, MIB // 2)
    answers.clear()
    assert (await stranger.load("g")).group == group
    assert len(answers) > 12
    assert max(answers) < 2 * MIB


async def test_changes_that_a_cached_group_has_missed_are_read_in_parts_too(
    store: Store, stranger: Store, answers: list[int]
) -> None:
    await registered(store, "a", 0)
    await stranger.load("g")
    for subtask in range(8):
        group = await registered(store, "a", subtask, MIB)
    answers.clear()
    assert (await stranger.load("g")).group == group
    assert max(answers) < 2.5 * MIB


def meanwhile(monkeypatch: pytest.MonkeyPatch, store: Store, act: Callable[[], Awaitable[None]]) -> None:
    """`act` happens before each part that this store reads."""
    connections: Any = store._connections  # type: ignore[attr-defined]
    run = connections.run

    async def interrupted(script: Script, *args: Any, **more: Any) -> Any:
        if script is store._groups._values:  # type: ignore[attr-defined]
            await act()
        return await run(script, *args, **more)

    monkeypatch.setattr(connections, "run", interrupted)


async def test_a_group_that_changes_while_it_is_read_is_as_in_the_last_answer(
    store: Store, stranger: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for subtask in range(12):
        await registered(store, "a", subtask, MIB)
    done = 0

    async def change() -> None:
        nonlocal done
        done += 1
        if done <= 4:
            await registered(store, "a", done, 8)
            await registered(store, "b", done)
            loaded = await store.load("g")
            assert loaded.group is not None
            assert await store.commit(loaded, evict(loaded.group, "a", 0 if done == 1 else done + 1)) is None
            await registered(store, "a", done + 1, MIB)

    meanwhile(monkeypatch, stranger, change)
    found, truth = await stranger.load("g"), await store.load("g")
    assert done >= 3
    assert (found.version, found.group) == (truth.version, truth.group)


async def test_a_group_that_is_deleted_while_it_is_read_is_gone(
    store: Store, stranger: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for subtask in range(3):
        await registered(store, "a", subtask, MIB)

    async def delete() -> None:
        await store.discard("g")

    meanwhile(monkeypatch, stranger, delete)
    assert (await stranger.load("g")).group is None


async def test_a_group_that_changes_for_ever_is_given_up(
    store: Store, stranger: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "READINGS", 3)
    for subtask in range(4):
        await registered(store, "a", subtask, MIB)

    async def change() -> None:
        for subtask in range(3):
            await registered(store, "a", subtask, MIB)

    meanwhile(monkeypatch, stranger, change)
    with pytest.raises(StoreUnavailable, match="changes faster than it can be read"):
        await stranger.load("g")


DAMAGED_HEAD = ("HSET", STATE, "head", "{")
DAMAGES = {
    "head": DAMAGED_HEAD,
    "reader": ("HSET", STATE, READER, '{"epoch":"none"}'),
    "no head": ("HDEL", STATE, "head"),
    "no version": ("HSET", STATE, "version", "none"),
    "foreign field": ("HSET", STATE, "r:none", "{}"),
    "another type": ("SET", STATE, "none"),
}
"""Commands of Redis. (Newer releases: test_newer_formats.py.)"""


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_damaged_group_has_a_remedy_and_can_be_discarded(
    redis: Redis, store: Store, stranger: Store, damage: tuple[str, ...]
) -> None:
    await registered(store, "a", 0)
    redis.execute_command(*damage)
    with pytest.raises(UnreadableGroup) as raised:
        await stranger.load("g")
    assert raised.value.name == "g"
    assert "lockgate delete" in raised.value.remedy
    assert await stranger.discard("g") is not None
    assert await stranger.names("", 9) == []
    successor = await registered(stranger, "a", 0)
    assert (await store.load("g")).group == successor


async def test_an_unreadable_group_is_logged_once_until_it_can_be_read(
    redis: Redis, store: Store, stranger: Store, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        await registered(store, "a", 0)
        redis.execute_command(*DAMAGED_HEAD)
        for _ in range(3):
            with pytest.raises(UnreadableGroup):
                await stranger.load("g")
        await store.discard("g")
        await stranger.load("g")
    assert [record.levelname for record in caplog.records if "cannot be read" in record.getMessage()] == ["WARNING"] * 2


async def test_a_name_without_a_group_leaves_the_list(redis: Redis, store: Store) -> None:
    redis.zadd(keys.GROUPS, {"g": 0})
    assert await store.discard("g") is NotDiscarded.NO_GROUP
    assert await store.names("", 9) == []


async def test_a_discard_whose_answer_was_lost_answers_the_same_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await registered(store, "a", 0)
    connections: Any = store._connections  # type: ignore[attr-defined]
    run = connections.run

    async def twice(script: Script, *args: Any, **more: Any) -> Any:
        await run(script, *args, **more)
        return await run(script, *args, **more)

    monkeypatch.setattr(connections, "run", twice)
    assert await store.discard("g") == 1
