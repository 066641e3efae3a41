"""A group that a coordinator of a newer release has written, in a format that is not known here."""

import json
from dataclasses import fields

import pytest
from redis import Redis

from lockgate.enumerator.model import Enumerator, SplitOwner
from lockgate.group.group import Group
from lockgate.group.reader import Arriving, Reader
from lockgate.wire.events import GroupConfig, ReaderFacts, ReportedWatermarkEvent, SplitReport
from lockgate_coordinator.store import Store, UnreadableGroup, keys, open_store
from lockgate_coordinator.store.records import FORMAT
from lockgate_testbed.redis import RedisServer
from support.commits import change, reports

STATE = keys.state("g")
NEWER = f"group 'g' .* needs format {FORMAT + 1}, and this one supports {FORMAT}. Upgrade this coordinator"

VALUES_OF_A_READER = (
    "epoch heard_at owner attributes reported excused lost progressed_at held_since overdue passed_over splits_named "
    "attempts progress_ignored arriving"
)
FIELDS = {
    Group: "acts cap config config_version configured_at created_at grace_until group_watermark heard_at left_epoch "
    "losses_at max_desired_watermark name paused_sources readers revision sources_seen started",
    GroupConfig: "catch_up expected_sources lease_ms max_drift_ms max_wait_ms mode on_lost_reader on_max_wait "
    "update_interval_ms",
    Arriving: "split watermark",
    ReportedWatermarkEvent: "batch_id epoch facts finished idle park_ms reach splits subtask watermark",
    ReaderFacts: "event_time_rate late_rows producer_lag_ms retained_until retention_split rows_saved",
    Enumerator: "assigning_at began_at bounded discovered_at discoverer finished free from_readers heard_at known_to "
    "last_number listed lost_history missing readers revision static survivors_until to_readers",
    SplitOwner: "arriving capacity discovery_interval_ms events_from excused heard_at held is_processing_backlog "
    "lease_ms requests revoked",
    SplitReport: "end position rows state watermark",
}


def written_by_a_newer_release(redis: Redis, **config: str) -> None:
    head = json.loads(str(redis.hget(STATE, "head"))) | {"format": FORMAT + 1}
    head["config"] |= config
    redis.hset(STATE, "head", json.dumps(head))
    redis.hincrby(STATE, "version", 1)


@pytest.mark.redis
@pytest.mark.parametrize("config", [{}, {"catch_up": "sideways"}])
async def test_a_group_of_a_newer_format_is_neither_read_nor_written(
    redis: Redis, store: Store, redis_server: RedisServer, config: dict[str, str]
) -> None:
    await change(store, reports("a", 1))
    written_by_a_newer_release(redis, **config)
    before = redis.hgetall(STATE)
    stranger = open_store(redis_server.url)
    for opened in (store, stranger):
        with pytest.raises(UnreadableGroup, match=NEWER):
            await change(opened, reports("a", 3))
        with pytest.raises(UnreadableGroup, match=NEWER):
            await opened.load("g")
    await stranger.close()
    assert redis.hgetall(STATE) == before


def test_the_fields_of_format_1_are_these() -> None:
    """A release that changes them raises `FORMAT`."""
    assert FORMAT == 1
    assert {kind: " ".join(sorted(each.name for each in fields(kind))) for kind in FIELDS} == FIELDS
    assert " ".join(Reader._fields) == VALUES_OF_A_READER
