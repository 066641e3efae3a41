"""What a plan would stop at is looked at first: of many splits, those that lie furthest above its
target.
"""

import pytest

from lockgate.plan.model import Head
from lockgate_spark.logs.kafka import MOST_CONFIRMED, KafkaSplitLog
from support.runs import JvmLogInMemory

HOUR_MS = 3_600_000
SPLITS = MOST_CONFIRMED + 1


@pytest.mark.parametrize(("marker_in", "found_out"), [(SPLITS - 1, True), (1, True), (0, False)])
def test_the_splits_furthest_above_the_target_are_confirmed_first(marker_in: int, found_out: bool) -> None:
    records = {f"t-{n:03}": [0, (n + 1) * HOUR_MS] for n in range(SPLITS)}
    log, ends = KafkaSplitLog(JvmLogInMemory(records)), dict.fromkeys(records, 2)
    log.set_splits(records)
    stops = {split: Head(1, times[1]) for split, times in records.items()}
    records[f"t-{marker_in:03}"][1] = 0  # what lies there is not what a look-up has told of
    assert log.confirm(0, stops, ends) is not found_out
    assert log.look_ups == 1
