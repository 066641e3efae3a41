"""What has gone wrong with aligned groups in other systems' trackers, each as one case of ours."""

from dataclasses import replace

import pytest

from lockgate.errors import StaleEpoch
from lockgate.group.group import Group, create
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import CatchUp, GroupConfig, OnLostReader, ReportedWatermarkEvent
from support.turns import NOW, decide, evaluate, evict, registered, report, reported

LEASE, DRIFT = 900, 10
CONFIG = GroupConfig(lease_ms=LEASE, update_interval_ms=100, max_drift_ms=DRIFT, catch_up=CatchUp.STRICT)


def values(group: Group, now_ms: int = NOW) -> tuple[int, int]:
    decision = decide(group, now_ms)
    return decision.group_watermark, decision.ceiling


@pytest.fixture
def group() -> Group:
    """Source a at 5, source b at 15, which waits for it."""
    return reported(reported(create("g", CONFIG, NOW), "a", 5), "b", 15)


def test_a_member_that_never_reported_holds_nobody(group: Group) -> None:
    assert values(registered(group, "c")) == (5, 15)
    assert values(reported(registered(group, "c"), "c", MIN)) == (5, 15)


def test_a_member_with_zero_splits_counts_by_its_watermark_alone(group: Group) -> None:
    assert values(reported(group, "c", 2, splits={})) == (2, 12)
    assert values(reported(group, "c", MIN, splits={}, idle=True)) == (5, 15)


def test_all_idle_is_max_and_the_drift_overflows_nothing(group: Group) -> None:
    idle = reported(reported(group, "a", 5, idle=True), "b", 15, idle=True)
    assert values(idle) == (MAX, MAX)
    assert values(replace(idle, config=replace(CONFIG, max_drift_ms=MAX))) == (MAX, MAX)


def test_old_record_after_idleness_takes_the_group_back_to_it(group: Group) -> None:
    idle = reported(reported(group, "a", 5, idle=True), "b", 500)
    assert values(idle) == (500, 510)
    assert values(reported(idle, "a", 3)) == (3, 13)


def test_waiting_reader_that_was_idle_waits_again_and_goes_on(group: Group) -> None:
    assert group.readers["b", 0].held_since == NOW
    idle = reported(group, "b", 15, NOW + 10, idle=True)
    assert (idle.readers["b", 0].held_since, values(idle)) == (None, (5, 15))
    resumed = reported(idle, "b", 15, NOW + 20)
    assert resumed.readers["b", 0].held_since == NOW + 20
    on = reported(reported(resumed, "a", 40, NOW + 30), "b", 16, NOW + 40)
    assert (on.readers["b", 0].held_since, values(on, NOW + 40)) == (None, (16, 26))


def test_reader_that_waits_very_long_counts_while_it_is_heard(group: Group) -> None:
    now_ms = NOW
    for now_ms in range(NOW, NOW + 100 * LEASE, LEASE // 3):
        group = reported(reported(group, "a", 5, now_ms), "b", 15, now_ms)
    assert values(group, now_ms) == (5, 15)
    assert values(reported(group, "a", 80, now_ms), now_ms) == (15, 25)


def test_finished_reader_among_idle_ones_is_max_and_ends_nothing(group: Group) -> None:
    done = reported(reported(group, "b", 15, idle=True), "a", 5, finished=True)
    assert values(done) == (MAX, MAX)
    assert values(reported(done, "b", 20)) == (20, 30)


def test_all_finished_is_max_and_nobody_is_ever_lost(group: Group) -> None:
    done = reported(reported(group, "a", 5, finished=True), "b", 15, finished=True)
    assert values(done, NOW + 10**9) == (MAX, MAX)
    assert not any(reader.lost for reader in evaluate(done, NOW + 10**9)[0].readers.values())


@pytest.mark.parametrize("lost", OnLostReader)
def test_member_missing_after_downscale_holds_for_lease_or_eviction(lost: OnLostReader) -> None:
    group = create("g", replace(CONFIG, on_lost_reader=lost), NOW)
    group = reported(reported(group, "a", 50), "a", 5, subtask=1)
    # the source is back with one subtask alone
    for now_ms in range(NOW, NOW + LEASE + 1, LEASE // 3):
        group = reported(group, "a", 50, now_ms)
    assert values(group, NOW + LEASE)[0] == (50 if lost is OnLostReader.EXCLUDE else 5)
    assert values(evict(group, "a", 1), NOW + LEASE)[0] == 50


def test_restarted_member_takes_group_back_and_fences_older_epoch(group: Group) -> None:
    older = group.readers["a", 0].epoch
    restarted = reported(registered(group, "a", NOW + 1), "a", 2, NOW + 1)
    assert values(restarted, NOW + 1) == (2, 12)
    with pytest.raises(StaleEpoch):
        report(restarted, "a", ReportedWatermarkEvent(subtask=0, epoch=older, watermark=100), NOW + 1)


def test_zero_drift_lets_everybody_go_to_the_slowest_and_no_further(group: Group) -> None:
    config = replace(CONFIG, max_drift_ms=0)
    group = reported(reported(create("g", config, NOW), "a", 5), "b", 5)
    assert (values(group), values(reported(group, "b", 6)), values(reported(group, "a", 6))) == ((5, 5), (5, 5), (5, 5))
    assert values(reported(reported(group, "a", 6), "b", 6)) == (6, 6)


@pytest.mark.parametrize("catch_up", CatchUp)
def test_a_drift_below_the_span_of_a_batch_stops_nobody_for_good(catch_up: CatchUp) -> None:
    span, ends = 1_000, {"a": 20_000, "b": 20_000}
    group, stands = create("g", replace(CONFIG, catch_up=catch_up), NOW), {"a": 0, "b": 500}
    for turn in range(100):
        for source in "ab":
            reach = min(ends[source], stands[source] + span)
            group = reported(group, source, stands[source], NOW + turn, reach=reach)
            if stands[source] < values(group, NOW + turn)[1]:
                stands[source] = reach  # a batch is read whole
            assert abs(stands["a"] - stands["b"]) <= 2 * span
    assert stands == ends
