"""Expiry: which readers and groups it removes, and that the ceiling does not notice."""

from dataclasses import replace

import pytest

from lockgate.group.expiry import Expiry, expired_readers
from lockgate.group.group import Group, configured, create
from lockgate.group.registering import without_readers
from lockgate.wire.events import CatchUp, GroupConfig, OnLostReader, ReaderRegistrationEvent
from support.turns import after_leases, decide, evaluate, has_expired, register, registered, reported

LEASE_MS = 1_000
DAY_MS = 86_400_000
EXPIRY = Expiry(readers_ms=DAY_MS, groups_ms=DAY_MS)
STRICT = GroupConfig(lease_ms=LEASE_MS, max_drift_ms=10, catch_up=CatchUp.STRICT)


def new(config: GroupConfig = STRICT) -> Group:
    return create("g", config, 1)


def heard(group: Group, source: str, watermark: int | None, now_ms: int, **more: bool | int) -> Group:
    """Return the group after a registration of the source, and a report; None: without a report."""
    return (
        registered(group, source, now_ms) if watermark is None else reported(group, source, watermark, now_ms, **more)
    )


def one_dead(config: GroupConfig = STRICT, alive_at: int = LEASE_MS + DAY_MS + 1, **dead: bool | int) -> Group:
    """Return a group with a reader that was heard at 1, and one that is heard until `alive_at`."""
    group = heard(heard(new(config), "dead", 5, 1, **dead), "alive", 100, 1)
    alive = group.readers["alive", 0]._replace(heard_at=alive_at)
    group = replace(group, readers=group.readers.updated({("alive", 0): alive}), heard_at=alive_at)
    return after_leases(group, alive_at)


def test_a_lost_reader_expires_so_long_after_its_lease_and_not_before() -> None:
    assert expired_readers(one_dead(alive_at=LEASE_MS + DAY_MS), EXPIRY) == []
    assert expired_readers(one_dead(), EXPIRY) == [("dead", 0)]


def test_a_finished_reader_and_one_that_never_reported_expire_too() -> None:
    assert expired_readers(one_dead(finished=True), EXPIRY) == [("dead", 0)]
    group = one_dead()
    silent = group.readers["dead", 0]._replace(reported=None, lost=False)
    group = replace(group, readers=group.readers.updated({("dead", 0): silent}))
    assert expired_readers(group, EXPIRY) == [("dead", 0)]


def test_a_parked_reader_does_not_expire_before_its_parking_has_ended() -> None:
    parked = one_dead(alive_at=2 * DAY_MS, park_ms=DAY_MS)
    assert expired_readers(parked, EXPIRY) == []
    assert expired_readers(one_dead(alive_at=2 * DAY_MS + 1, park_ms=DAY_MS), EXPIRY) == [("dead", 0)]


def test_a_lost_reader_that_holds_its_group_never_expires() -> None:
    held = one_dead(replace(STRICT, on_lost_reader=OnLostReader.HOLD), alive_at=100 * DAY_MS)
    assert evaluate(held, 100 * DAY_MS)[1].max_desired_watermark == 15
    assert expired_readers(held, EXPIRY) == []


def test_a_finished_reader_of_a_group_that_holds_expires() -> None:
    held = one_dead(replace(STRICT, on_lost_reader=OnLostReader.HOLD), finished=True)
    assert expired_readers(held, EXPIRY) == [("dead", 0)]


@pytest.mark.parametrize("catch_up", list(CatchUp))
@pytest.mark.parametrize("finished", [False, True])
def test_the_expiry_of_a_reader_changes_no_ceiling(catch_up: CatchUp, finished: bool) -> None:
    group = one_dead(replace(STRICT, catch_up=catch_up), finished=finished)
    now_ms = LEASE_MS + DAY_MS + 1
    after = without_readers(group, expired_readers(group, EXPIRY))
    assert len(after.readers) == 1
    assert decide(after, now_ms) == decide(group, now_ms)


def test_while_all_are_silent_no_reader_expires() -> None:
    """It may be an outage, and the first report afterwards excuses them."""
    group = after_leases(heard(heard(new(), "a", 5, 1), "b", 100, 1), 10 * DAY_MS)
    assert expired_readers(group, EXPIRY) == []
    after = heard(group, "b", 101, 10 * DAY_MS)
    assert expired_readers(after, EXPIRY) == []
    assert evaluate(after, 10 * DAY_MS)[1].max_desired_watermark == 15


def test_a_successor_of_an_expired_reader_has_a_higher_epoch() -> None:
    group = one_dead()
    epoch = group.readers["dead", 0].epoch
    after = without_readers(replace(group, left_epoch=0), [("dead", 0)])
    assert register(after, "dead", ReaderRegistrationEvent(subtask=0), 0).readers["dead", 0].epoch > epoch


def test_nothing_expires_where_it_is_switched_off() -> None:
    never = Expiry(readers_ms=None, groups_ms=None)
    assert expired_readers(one_dead(), never) == []
    assert not has_expired(new(), never, 100 * DAY_MS)


def test_a_group_expires_so_long_after_its_last_lease_and_not_before() -> None:
    group = heard(new(), "a", 5, 1)
    assert not has_expired(group, EXPIRY, LEASE_MS + DAY_MS)
    assert has_expired(group, EXPIRY, LEASE_MS + DAY_MS + 1)


def test_a_group_without_readers_expires_so_long_after_its_beginning() -> None:
    assert not has_expired(new(), EXPIRY, DAY_MS)
    assert has_expired(new(), EXPIRY, DAY_MS + 1)


def test_a_group_that_an_operator_has_configured_never_expires() -> None:
    assert not has_expired(configured(new(), STRICT, 2), EXPIRY, 100 * DAY_MS)


def test_a_group_that_a_lost_reader_holds_never_expires() -> None:
    held = replace(STRICT, on_lost_reader=OnLostReader.HOLD)
    assert not has_expired(heard(new(held), "a", 5, 1), EXPIRY, 100 * DAY_MS)
    assert has_expired(heard(new(held), "a", None, 1), EXPIRY, 100 * DAY_MS)


def test_time_in_which_the_process_stood_still_does_not_count() -> None:
    group, now_ms = heard(new(), "a", 5, 1), LEASE_MS + DAY_MS + 500
    assert has_expired(group, EXPIRY, now_ms)
    assert not has_expired(group, EXPIRY, now_ms, ((now_ms - 600, now_ms),))
