"""The judge of schedules notices each breach, and nothing else."""

from dataclasses import replace

import pytest

from support.schedules.drawing import Fault, drawn
from support.schedules.judging import Handed, Snapshot, Told, judged


def record(offset: int, at: float = 0.0, number: int = 1, **more: float) -> Handed:
    one = Handed(at or float(offset), "a", "t-0", offset, time=offset, ceiling=100, number=number, until=1e9)
    return replace(one, **more)  # type: ignore[arg-type]


FINE = [record(0), record(1), record(2, number=5)]


FAREWELL = Snapshot(9.0, "a", {}, sent_at=9.0, until=11.0, farewell=True)


def wrong(*handed: Handed, snapshots: tuple[Snapshot, ...] = (), loses: bool = False) -> list[str]:
    return judged(handed, snapshots, {"t-0": 3}, loses=loses).wrong


def test_a_graceful_handover_is_fine() -> None:
    assert wrong(*FINE, snapshots=(FAREWELL,)) == []


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


AGAIN = [*FINE[:2], record(1, at=3, number=5), record(2, at=4, number=5)]


def test_a_record_comes_again_only_if_its_owner_lost_its_lease() -> None:
    held = Snapshot(0.5, "a", {}, sent_at=0.5, until=2.5)
    late, early = (Snapshot(at, "a", {}, sent_at=at, until=at + 2, farewell=True) for at in (2.6, 2.4))
    assert wrong(*AGAIN, snapshots=(held,)) == []
    assert wrong(*AGAIN, snapshots=(held, late)) == []
    assert wrong(*AGAIN, snapshots=(held, early)) == ["t-0 at 1: again, and a never lost its lease"]


def test_a_record_below_a_position_that_was_kept_may_not_come_again() -> None:
    kept = Snapshot(1.5, "a", {"t-0": (1, 2)})
    assert wrong(*AGAIN, snapshots=(kept,)) == ["t-0 at 1: again, though a later position was kept"]
    assert wrong(*AGAIN, snapshots=(kept,), loses=True) == []


def test_a_ceiling_that_the_coordinator_had_not_told_by_then_is_none() -> None:
    told = (Told(0.0, "a", 1, 1), Told(1.5, "a", 2, 5), Told(0.0, "b", 3, 9))
    early, late = (Told(at, "a", 2, 5) for at in (1.5, 2.5))
    seen = {1: 1, 2: 5}
    fine = judged(FINE, [FAREWELL], {"t-0": 3}, loses=False, told=(told[0], early), seen=seen)
    assert (fine.wrong, fine.compared) == ([], 2)
    above = judged(FINE, [FAREWELL], {"t-0": 3}, loses=False, told=(told[0], late, told[2]), seen=seen)
    assert above.wrong == ["t-0 at 2: above all that the coordinator had told"]
    other = judged(FINE, [FAREWELL], {"t-0": 3}, loses=False, told=(told[0], early), seen={1: 2})
    assert other.wrong == ["a was told another ceiling of revision 1"]


def test_all_kinds_of_faults_are_drawn_and_a_seed_always_draws_the_same() -> None:
    schedules = [drawn(seed) for seed in range(20)]
    assert {act.fault for schedule in schedules for act in schedule.acts} == set(Fault)
    assert {schedule.loses for schedule in schedules} == {True, False}
    assert schedules == [drawn(seed) for seed in range(20)]
