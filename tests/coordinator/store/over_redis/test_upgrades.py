"""Coordinators of several releases over one Redis: a newer one has fields and settings that are not
known here.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from lockgate.group.alignment import evaluate
from lockgate.group.group import Group, replace_config
from lockgate.group.source_pauses import pause, resume
from lockgate.wire.events import GroupConfig, SourcePause
from lockgate_coordinator.store import Store, StoreUnavailable, keys, open_store
from lockgate_coordinator.store.formats import FORMAT, KNOWN, NEEDS, NEEDS_PAUSES
from lockgate_testbed.redis import RedisServer
from support.commits import change, reports

pytestmark = pytest.mark.redis

STATE = keys.state("g")
READER = keys.reader_field(("a", 0))

Record = dict[str, Any]


def written_by_a_newer_release(redis: Redis, needs: int) -> None:
    """Add to each record of the group what a newer release has there."""
    head, reader = (json.loads(str(redis.hget(STATE, field))) for field in ("head", READER))
    head |= {"format": FORMAT + 1, "needs": needs, "weather": {"rain": [1, 2**62]}}
    head["config"]["colour"] = "red"
    reader |= {"shoes": 2, "attributes": {"shoes": "brown"}}
    reader["reported"]["mood"] = {"good": True}
    reader["reported"]["splits"]["p-0"]["depth"] = 7
    redis.hset(STATE, mapping={"head": json.dumps(head), READER: json.dumps(reader)})


def stored(redis: Redis, field: str) -> Record:
    record: Record = json.loads(str(redis.hget(STATE, field)))
    return record


async def test_what_a_newer_release_has_written_is_kept_by_everything_but_a_report_in_its_place(
    redis: Redis, store: Store, redis_server: RedisServer
) -> None:
    await change(store, reports("a", 1))
    written_by_a_newer_release(redis, needs=NEEDS)
    this = open_store(redis_server.url)

    def time_passes(group: Group | None, now_ms: int) -> Group:
        assert group is not None
        return evaluate(group, now_ms + 3_600_000)[0]

    await change(this, time_passes)
    await change(this, reports("b", 2))
    head, reader = stored(redis, "head"), stored(redis, READER)
    assert (head["format"], head["weather"], head["config"]["colour"]) == (FORMAT + 1, {"rain": [1, 2**62]}, "red")
    assert (reader["lost"], reader["shoes"], reader["attributes"]) == (True, 2, {"shoes": "brown"})
    assert (reader["reported"]["mood"], reader["reported"]["splits"]["p-0"]["depth"]) == ({"good": True}, 7)
    await change(this, reports("a", 3))
    reader = stored(redis, READER)
    assert (reader["shoes"], reader["lost"]) == (2, False)
    assert "mood" not in reader["reported"]
    assert "depth" not in reader["reported"]["splits"]["p-0"]
    await this.close()


async def test_another_configuration_replaces_the_settings_that_are_not_known_here(
    redis: Redis, store: Store, redis_server: RedisServer
) -> None:
    await change(store, reports("a", 1))
    written_by_a_newer_release(redis, needs=NEEDS)
    this = open_store(redis_server.url)

    def configured(group: Group | None, now_ms: int) -> Group:
        assert group is not None
        return replace_config(group, GroupConfig(lease_ms=500_000), now_ms)

    await change(this, configured)
    head = stored(redis, "head")
    assert "colour" not in head["config"]
    assert head["weather"] == {"rain": [1, 2**62]}
    await this.close()


async def test_an_older_coordinator_may_work_on_a_group_as_long_as_no_operator_has_paused_a_source(
    redis: Redis, store: Store
) -> None:
    def paused(group: Group | None, now_ms: int) -> Group:
        assert group is not None
        return pause(group, SourcePause(source="a", at=now_ms), now_ms)

    def resumed(group: Group | None, now_ms: int) -> Group:
        assert group is not None
        return resume(group, "a", now_ms)

    needs = []
    for command in (reports("a", 1), paused, reports("a", 2), resumed):
        await change(store, command)
        needs.append(stored(redis, "head")["needs"])
    assert needs == [NEEDS, NEEDS_PAUSES, NEEDS_PAUSES, NEEDS]


async def test_a_group_that_needs_a_newer_release_is_neither_read_nor_written_and_the_answer_says_what_to_do(
    redis: Redis, store: Store, redis_server: RedisServer
) -> None:
    await change(store, reports("a", 1))
    written_by_a_newer_release(redis, needs=FORMAT + 1)
    redis.hincrby(STATE, "version", 1)
    before = redis.hgetall(STATE)
    newer = f"group 'g' .* needs format {FORMAT + 1}, and this one supports {FORMAT}. Upgrade this coordinator"
    for opened in (store, open_store(redis_server.url)):
        with pytest.raises(StoreUnavailable, match=newer):
            await change(opened, reports("a", 3))
        with pytest.raises(StoreUnavailable, match=newer):
            await opened.load("g")
    await opened.close()
    assert redis.hgetall(STATE) == before


async def test_a_word_that_only_a_newer_release_knows_is_no_fault_of_the_service(redis: Redis, store: Store) -> None:
    await change(store, reports("a", 1))
    written_by_a_newer_release(redis, needs=FORMAT + 1)
    head = stored(redis, "head")
    head["config"]["catch_up"] = "sideways"
    redis.hset(STATE, "head", json.dumps(head))
    redis.hincrby(STATE, "version", 1)
    with pytest.raises(StoreUnavailable, match="Upgrade this coordinator"):
        await store.load("g")


async def test_a_group_without_news_has_no_trace_of_what_is_not_known(redis: Redis, store: Store) -> None:
    await change(store, reports("a", 1))
    assert (stored(redis, "head")["format"], stored(redis, "head")["needs"]) == (FORMAT, NEEDS)
    assert "unknown" not in stored(redis, READER)


def test_a_release_that_changes_the_fields_of_a_record_has_a_format_of_its_own() -> None:
    """A new field needs a higher `FORMAT`, with its fields in fields_of_formats.json; and a higher
    `NEEDS` too, if a coordinator that ignores it would do harm. Formats that were released stay.
    """
    of_formats = json.loads((Path(__file__).parent / "fields_of_formats.json").read_text())
    assert max(map(int, of_formats)) == FORMAT
    assert of_formats[str(FORMAT)] == {".".join(path): sorted(names) for path, names in KNOWN.items()}
