"""The judge of schedules notices each breach, and nothing else."""

from dataclasses import replace

import pytest

from support.schedules.drawing import Fault, drawn
from support.schedules.judging import Handed, Snapshot, judged


def record(offset: int, at: float = 0.0, number: int = 1, **more: float) -> Handed:
    one = Handed(at or float(offset), "a", "t-0", offset, time=offset, ceiling=100, number=number, until=1e9)
    return replace(one, **more)  # type: ignore[arg-type]


FINE = [record(0), record(1), record(2, number=5)]


def wrong(*handed: Handed, snapshots: tuple[Snapshot, ...] = (), hard: bool = True, loses: bool = False) -> list[str]:
    return judged(handed, snapshots, {"t-0": 3}, hard=hard, loses=loses).wrong


def test_a_graceful_handover_is_fine() -> None:
    assert wrong(*FINE, hard=False) == []


@pytest.mark.parametrize(
    ("handed", "says"),
    [
        (FINE[:2], "1 of 3 records never came, the first at 2"),
        ([*FINE, record(2, at=9, number=5)], "twice by the same owner"),
        ([*FINE, record(2, at=9, number=3)], "went on after the next one had begun"),
        ([*FINE[:2], record(2, time=101)], "1 ms above the ceiling"),
        ([*FINE[:2], record(2, until=1.5)], "0.500 s after the lease"),
    ],
)
def test_a_breach_is_named(handed: list[Handed], says: str) -> None:
    assert [each for each in wrong(*handed) if says in each]


def test_a_record_may_come_again_after_a_kill_and_not_otherwise() -> None:
    again = [*FINE[:2], record(1, at=3, number=5), record(2, at=4, number=5)]
    assert wrong(*again) == []
    assert wrong(*again, hard=False) == ["1 records came twice, and nobody was killed"]


def test_a_record_below_a_position_that_was_kept_may_not_come_again() -> None:
    again = [*FINE[:2], record(1, at=3, number=5), record(2, at=4, number=5)]
    kept = Snapshot(1.5, "a", {"t-0": (1, 2)})
    assert wrong(*again, snapshots=(kept,)) == ["t-0 at 1: again, though a later position was kept"]
    assert wrong(*again, snapshots=(kept,), loses=True) == []


def test_all_kinds_of_faults_are_drawn_and_a_seed_always_draws_the_same() -> None:
    schedules = [drawn(seed) for seed in range(20)]
    assert {act.fault for schedule in schedules for act in schedule.acts} == set(Fault)
    assert {schedule.loses for schedule in schedules} == {schedule.hard for schedule in schedules} == {True, False}
    assert schedules == [drawn(seed) for seed in range(20)]
