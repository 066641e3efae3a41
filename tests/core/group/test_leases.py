from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.group.group import Group, create, replace_config
from lockgate.group.leases import after_silence, tolerance_ms
from lockgate.group.reader import Reader
from lockgate.group.readers import Ranking, Readers
from lockgate.watermark import MAX
from lockgate.wire.events import GroupConfig, OnLostReader, ReportedWatermarkEvent
from support.examples import examples
from support.turns import NOW, after_leases, decide, evaluate, reported

LEASE = 900
CONFIG = GroupConfig(lease_ms=LEASE, update_interval_ms=100, max_drift_ms=10)


@pytest.fixture
def group() -> Group:
    """Source a stands at 5, source b at 100, both heard at NOW."""
    return reported(reported(create("g", CONFIG, NOW), "a", 5, NOW), "b", 100, NOW)


@pytest.mark.parametrize(
    ("interval", "lease", "expected"), [(100, 900, 300), (1_000, 900, 2_000), (1_000, 30_000, 10_000)]
)
def test_the_tolerance_is_a_third_of_a_lease_or_two_intervals(interval: int, lease: int, expected: int) -> None:
    assert tolerance_ms(GroupConfig(update_interval_ms=interval, lease_ms=lease)) == expected


def test_lost_reader_that_holds_bounds_what_the_others_offer() -> None:
    group = create("g", replace(CONFIG, on_lost_reader=OnLostReader.HOLD), NOW)
    group = reported(reported(group, "a", 5, NOW, reach=500), "b", 100, NOW + 1, reach=500)
    assert decide(group, NOW).ceiling == 500
    assert decide(group, NOW + LEASE).ceiling == 15


def test_a_clock_that_is_put_back_leaves_each_lease_what_was_left_of_it(group: Group) -> None:
    group = reported(group, "b", 100, NOW + 200)
    back = NOW - 60_000
    for now_ms in range(back, back + LEASE - 200, 100):
        group = reported(group, "b", 100, now_ms)
    assert decide(group, back + LEASE - 201).group_watermark == 5
    assert decide(group, back + LEASE - 200).group_watermark == 100


def test_reader_lost_by_clock_ahead_counts_again_once_put_back(group: Group) -> None:
    ahead, _ = evaluate(group, NOW + 3_600_000)
    assert all(reader.lost for reader in ahead.readers.values())
    assert decide(reported(ahead, "b", 100, NOW - 60_000), NOW - 60_000).ceiling == 15


def test_reader_lost_by_clock_briefly_ahead_returns_without_report(group: Group) -> None:
    ahead, event = evaluate(group, NOW + 3_600_000)
    assert event.max_desired_watermark == MAX
    again, event = evaluate(ahead, NOW + 100)
    assert (event.group_watermark, [reader.lost for reader in again.readers.values()]) == (5, [False, False])
    assert decide(again, NOW + LEASE).group_watermark == MAX


def test_clocks_within_tolerance_bring_no_lost_reader_back(group: Group) -> None:
    lost, _ = evaluate(group, NOW + LEASE)
    assert decide(lost, NOW + LEASE - 1).group_watermark == MAX
    assert decide(lost, NOW + LEASE - tolerance_ms(CONFIG)).group_watermark == MAX
    assert decide(lost, NOW + LEASE - tolerance_ms(CONFIG) - 1).group_watermark == 5


def test_shorter_lease_holds_from_readers_next_report(group: Group) -> None:
    group = replace_config(group, replace(CONFIG, lease_ms=100), NOW + 500)
    assert decide(group, NOW + LEASE - 1).group_watermark == 5
    assert decide(group, NOW + LEASE).group_watermark == MAX
    group = reported(group, "a", 5, NOW + 600)
    assert decide(group, NOW + 699).group_watermark == 5
    assert decide(group, NOW + 700).group_watermark == 100


def test_longer_lease_brings_lost_reader_back_without_its_reach(group: Group) -> None:
    group = reported(reported(group, "a", 5, NOW, reach=500), "b", 100, NOW, reach=500)
    group = replace_config(evaluate(group, NOW + LEASE)[0], replace(CONFIG, lease_ms=2 * LEASE), NOW + LEASE)
    assert (decide(group, NOW + LEASE).group_watermark, decide(group, NOW + LEASE).ceiling) == (5, 15)


def test_a_reader_lost_by_the_longer_lease_stays_lost_by_the_shorter_one(group: Group) -> None:
    group = evaluate(reported(reported(group, "b", 100, NOW + 300), "b", 100, NOW + 600), NOW + LEASE)[0]
    assert decide(replace_config(group, replace(CONFIG, lease_ms=100), NOW + LEASE), NOW + LEASE).group_watermark == 100


members = st.builds(
    Reader,
    epoch=st.just(1),
    heard_at=st.integers(NOW - 2 * LEASE, NOW),
    reported=st.none()
    | st.builds(
        ReportedWatermarkEvent,
        subtask=st.just(0),
        epoch=st.just(1),
        watermark=st.integers(0, 50),
        finished=st.integers(0, 5).map(lambda n: n == 0),
        reach=st.none() | st.integers(0, 90),
        park_ms=st.none() | st.integers(1, 3 * LEASE),
    ),
    excused=st.booleans(),
    held_since=st.none() | st.just(NOW - 10),
)


@examples(40)
@given(st.lists(members, min_size=1, max_size=12), st.sampled_from([-60_000, 0, 400, 1_000, 5_000]))
def test_each_reader_of_a_crowd_becomes_at_once_what_it_would_become_alone(some: list[Reader], wait: int) -> None:
    crowd = {("s", n): some[n % len(some)] for n in range(300)}
    now_ms = NOW + wait

    def aged(readers: dict[tuple[str, int], Reader]) -> Group:
        group = replace(create("g", CONFIG, NOW), readers=Readers.of(readers), started=True, heard_at=NOW)
        return after_leases(after_silence(group, now_ms), now_ms)

    together = aged(crowd)
    alone = {key: dict(aged({key: reader}).readers)[key] for key, reader in list(crowd.items())[: len(some)]}
    assert {key: together.readers[key] for key in alone} == alone
    assert all(together.readers["s", n] == alone["s", n % len(some)] for n in range(300))
    one_by_one = Readers()
    for key, reader in together.readers.items():
        one_by_one = one_by_one.updated({key: reader})
    for with_lost in (False, True):
        assert together.readers.lowest_watermark(with_lost=with_lost) == one_by_one.lowest_watermark(
            with_lost=with_lost
        )
        assert together.readers.lowest_reach(with_lost=with_lost) == one_by_one.lowest_reach(with_lost=with_lost)
    assert (together.readers.first(Ranking.HEARD), together.readers.first(Ranking.PARKED)) == (
        one_by_one.first(Ranking.HEARD),
        one_by_one.first(Ranking.PARKED),
    )
