"""Three readers and 24 partitions through seeded schedules of faults: every record is handed out,
none above the ceiling, none by an owner that was replaced, and none twice but after a hard end.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lockgate_testbed.kafka import KafkaBroker
from support.schedules.drawing import drawn
from support.schedules.judging import Verdict
from support.schedules.world import run

AT_ONCE = 4
# Between them they have every kind of fault, a store that loses, and both ways to catch up.
FEW = (2, 5, 8, 13)
SHORT = range(20)
MANY = range(20, 200)


def verdicts(kafka: KafkaBroker, folder: Path, seeds: "range | tuple[int, ...]", *, sink: bool = False) -> list[str]:
    """What was wrong, over all seeds."""

    def judge(seed: int) -> Verdict:
        return run(drawn(seed), kafka.bootstrap, folder / str(seed), sink=sink)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(judge, seeds))
    assert all(verdict.records for verdict in found)
    return [f"seed {seed}: {text}" for seed, verdict in zip(seeds, found, strict=True) for text in verdict.wrong]


@pytest.mark.long
def test_readers_keep_their_promises_through_a_few_schedules(kafka: KafkaBroker, tmp_path: Path) -> None:
    assert verdicts(kafka, tmp_path, FEW) == []


@pytest.mark.long
def test_a_transactional_table_has_each_record_once_through_the_same_faults(kafka: KafkaBroker, tmp_path: Path) -> None:
    assert verdicts(kafka, tmp_path, FEW[:2], sink=True) == []


@pytest.mark.long
def test_readers_keep_their_promises_through_twenty_schedules(kafka: KafkaBroker, tmp_path: Path) -> None:
    assert verdicts(kafka, tmp_path, SHORT) == []


@pytest.mark.long
def test_readers_keep_their_promises_through_180_more_schedules(kafka: KafkaBroker, tmp_path: Path) -> None:
    assert verdicts(kafka, tmp_path, MANY) == []


@pytest.mark.long
def test_a_transactional_table_has_each_record_once_through_twenty_schedules(
    kafka: KafkaBroker, tmp_path: Path
) -> None:
    assert verdicts(kafka, tmp_path, SHORT, sink=True) == []
