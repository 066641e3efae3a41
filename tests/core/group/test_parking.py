"""A scheduled run ends, its source stays: parked readers (the rule: `lockgate.group.leases`)."""

from dataclasses import replace

import pytest

from lockgate.errors import ReaderBusy
from lockgate.group.group import Group, create, replace_config
from lockgate.group.leases import is_parked, lease_ends
from lockgate.watermark import MAX
from lockgate.wire.events import CatchUp, GroupConfig, OnLostReader, OnMaxWait
from support.turns import NOW, decide, evaluate, next_deadline, registered, reported

LEASE, HOUR, DRIFT = 900, 3_600_000, 10
CONFIG = GroupConfig(lease_ms=LEASE, update_interval_ms=100, max_drift_ms=DRIFT)


def beating(group: Group, source: str, watermark: int, begin: int, end: int) -> Group:
    """The source is heard every third of a lease, up to `end`."""
    for now_ms in range(begin, end, LEASE // 3):
        group = reported(group, source, watermark, now_ms)
    return group


@pytest.fixture
def parked() -> Group:
    """Source a is parked at 5 for ten leases from NOW on; source b stands at 100 and is heard."""
    return reported(reported(create("g", CONFIG, NOW), "a", 5, NOW, park_ms=10 * LEASE), "b", 100, NOW)


def test_parked_reader_holds_others_until_its_time_is_over(parked: Group) -> None:
    group = beating(parked, "b", 100, NOW, NOW + 10 * LEASE)
    assert decide(group, NOW + 10 * LEASE - 1).group_watermark == 5
    assert decide(group, NOW + 10 * LEASE).group_watermark == 100


def test_a_parked_reader_holds_on_after_its_time_where_lost_readers_do(parked: Group) -> None:
    group = replace(parked, config=replace(CONFIG, on_lost_reader=OnLostReader.HOLD))
    assert decide(beating(group, "b", 100, NOW, NOW + 11 * LEASE), NOW + 11 * LEASE).group_watermark == 5


def test_the_end_of_its_time_is_a_deadline(parked: Group) -> None:
    group = beating(parked, "b", 100, NOW, NOW + 10 * LEASE)
    assert next_deadline(group, NOW + 10 * LEASE - 1) == NOW + 10 * LEASE
    alone = reported(create("g", CONFIG, NOW), "a", 5, NOW, park_ms=HOUR)
    assert [next_deadline(alone, NOW + HOUR + after) for after in (-1, 0)] == [NOW + HOUR, None]


def test_reader_registered_late_holds_like_other_lost_readers(parked: Group) -> None:
    group = replace(parked, config=replace(CONFIG, on_lost_reader=OnLostReader.HOLD))
    back = NOW + 10 * LEASE
    group = registered(beating(group, "b", 100, NOW, back), "a", back)
    assert (decide(group, back).group_watermark, is_parked(group.readers["a", 0])) == (5, False)
    assert lease_ends(group.readers["a", 0], group.config) == back + LEASE


def test_the_report_that_parks_may_be_sent_again(parked: Group) -> None:
    assert reported(parked, "a", 5, NOW, park_ms=10 * LEASE) == parked


def test_a_parked_reader_is_its_owners_until_its_time_is_over() -> None:
    group = registered(create("g", CONFIG, NOW), "a", NOW, owner="hourly")
    group = beating(reported(group, "a", 5, NOW, park_ms=10 * LEASE), "b", 100, NOW, NOW + 5 * LEASE)
    with pytest.raises(ReaderBusy):
        registered(group, "a", NOW + 5 * LEASE, owner="another")
    assert registered(group, "a", NOW + 5 * LEASE, owner="hourly").readers["a", 0].owner == "hourly"


def test_a_finished_reader_cannot_be_parked() -> None:
    group = reported(create("g", CONFIG, NOW), "a", 5, NOW, finished=True, park_ms=LEASE)
    assert decide(group, NOW + HOUR).group_watermark == MAX
    assert (next_deadline(group, NOW), evaluate(group, NOW + HOUR)[0].readers["a", 0].lost) == (None, False)


def test_another_lease_of_the_group_leaves_the_time_as_it_is(parked: Group) -> None:
    for lease_ms in (100, 2 * LEASE):
        group = replace_config(parked, replace(CONFIG, lease_ms=lease_ms), NOW + 1)
        assert group.readers["a", 0].heard_at == NOW


def test_parked_reader_does_not_wait_and_can_be_passed_over() -> None:
    config = replace(CONFIG, catch_up=CatchUp.STRICT, max_wait_ms=500, on_max_wait=OnMaxWait.PROCEED)
    group = reported(reported(create("g", config, NOW), "a", 5, NOW, park_ms=HOUR), "b", 100, NOW)
    assert decide(beating(group, "b", 100, NOW, NOW + 500), NOW + 500).group_watermark == 100
    ahead = reported(reported(create("g", config, NOW), "a", 5, NOW), "b", 100, NOW)
    assert ahead.readers["b", 0].held_since == NOW
    assert reported(ahead, "b", 100, NOW, park_ms=HOUR).readers["b", 0].held_since is None
