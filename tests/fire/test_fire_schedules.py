"""Two coordinators, three readers and a query through seeded schedules of faults, in virtual time.
`lockgate verify` judges the history of each one.

`LOCKGATE_FIRE_SCHEDULES` (default 500) schedules from seed `LOCKGATE_FIRE_SEED` (default 0) on.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from lockgate_cli.verify.rules import verify
from support.fire.drawing import READERS, Act, Fault, Schedule, drawn
from support.fire.world import judged, recorded

FIRST = int(os.environ.get("LOCKGATE_FIRE_SEED", "0"))
MANY = range(FIRST, FIRST + int(os.environ.get("LOCKGATE_FIRE_SCHEDULES", "500")))
SHORT = (4, 148)


def wrong(seeds: Iterable[int], folder: Path) -> list[str]:
    """Return all violations, with the seed of each."""
    found = list[str]()
    for seed in seeds:
        try:
            verdict = judged(seed, folder / str(seed))
        except AssertionError as error:
            found.append(f"seed {seed}: {error}")
            continue
        found += [f"seed {seed}: {each}" for each in verdict.violations]
        if verdict.counts["losses"] and not drawn(seed).loses:
            found.append(f"seed {seed}: the store lost nothing, and {verdict.notices}")
    return found


def test_history_holds_through_two_schedules(tmp_path: Path) -> None:
    assert wrong(SHORT, tmp_path) == []


def test_all_kinds_of_faults_come() -> None:
    assert {act.fault for seed in range(50) for act in drawn(seed).acts} == set(Fault)


@pytest.mark.parametrize(("order", "ends"), [(0, False), (1, False), (2, True)])
def test_rotated_token_ends_clients_only_if_coordinators_come_first(tmp_path: Path, order: int, ends: bool) -> None:
    rotations = tuple(Act(at_s, Fault.TOKENS, order, 1.0) for at_s in (1.0, 5.0))
    verdict = verify(recorded(Schedule(1, rotations, "joint", "exclude"), tmp_path))
    assert verdict.violations == []
    assert (verdict.counts["clients"] > READERS + 1) == ends


@pytest.mark.long
def test_history_holds_through_500_schedules(tmp_path: Path) -> None:
    assert wrong(MANY, tmp_path) == []
