"""Three readers and 24 partitions through seeded schedules of faults: every record is handed out,
none above the ceiling, none by an owner that was replaced, none twice but after a lease ran out.
"""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lockgate_testbed.kafka import KafkaBroker
from support.schedules.drawing import SPAN_S, drawn
from support.schedules.judging import Verdict
from support.schedules.world import RECORDS, run

AT_ONCE = 4
FIRST = int(os.environ.get("LOCKGATE_SCHEDULE_SEED", "0"))
MANY = range(FIRST, FIRST + int(os.environ.get("LOCKGATE_SCHEDULES", "200")))
TWENTY = range(20)
# With these all kinds of faults come, stores that lose, and both ways to catch up.
THREE = (0, 2, 24)


def verdicts(
    kafka: KafkaBroker,
    folder: Path,
    seeds: Iterable[int],
    *,
    at_once: int = AT_ONCE,
    span_s: float = SPAN_S,
    records: int = RECORDS,
    sink: bool = False,
    own_group: bool = False,
) -> list[str]:
    """What was wrong, over all seeds."""

    def judge(seed: int) -> Verdict:
        return run(
            drawn(seed, span_s), kafka.bootstrap, folder / str(seed), sink=sink, records=records, kafka=own_group
        )

    with ThreadPoolExecutor(at_once) as pool:
        found = dict(zip(seeds, pool.map(judge, seeds), strict=True))
    assert all(verdict.records for verdict in found.values())
    assert sum(verdict.compared for verdict in found.values())  # on a busy machine, not in each run
    return [f"seed {seed}: {text}" for seed, verdict in found.items() for text in verdict.wrong]


def test_readers_keep_their_promises_through_three_short_schedules(kafka: KafkaBroker, tmp_path: Path) -> None:
    assert verdicts(kafka, tmp_path, THREE, at_once=3, span_s=1.5, records=40) == []


@pytest.mark.long
def test_kafkas_group_loses_nothing_and_keeps_the_limit_20_times(kafka: KafkaBroker, tmp_path: Path) -> None:
    assert verdicts(kafka, tmp_path, TWENTY, own_group=True) == []


@pytest.mark.long
def test_readers_keep_their_promises_through_200_schedules(kafka: KafkaBroker, tmp_path: Path) -> None:
    assert verdicts(kafka, tmp_path, MANY) == []


@pytest.mark.long
def test_transactional_table_has_each_record_once_after_20_schedules(kafka: KafkaBroker, tmp_path: Path) -> None:
    assert verdicts(kafka, tmp_path, TWENTY, sink=True) == []
