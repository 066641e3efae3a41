"""What a plan would stop at is looked at first: of many splits, those that lie furthest above its
target.
"""

import pytest

from lockgate.plan.model import Head
from lockgate_spark.event_times import Credible
from lockgate_spark.logs.kafka import MOST_CONFIRMED, KafkaSplitLog
from support.runs import JvmLogInMemory

HOUR_MS = 3_600_000
FAR = 4_070_908_800_000  # 2099
SPLITS = MOST_CONFIRMED + 1


@pytest.mark.parametrize(("marker_in", "found_out"), [(SPLITS - 1, True), (1, True), (0, False)])
def test_the_splits_furthest_above_the_target_are_confirmed_first(marker_in: int, found_out: bool) -> None:
    records = {f"t-{n:03}": [0, (n + 1) * HOUR_MS] for n in range(SPLITS)}
    log, ends = KafkaSplitLog(JvmLogInMemory(records)), dict.fromkeys(records, 2)
    log.set_splits(records)
    stops = {split: Head(1, times[1]) for split, times in records.items()}
    records[f"t-{marker_in:03}"][1] = 0  # what lies there is not what a look-up has told of
    assert log.confirm(0, stops, ends) is not found_out
    assert log.requests.made == 1


def test_every_search_asks_for_first_unread_records_before() -> None:
    log, ends = KafkaSplitLog(JvmLogInMemory({"t-0": [FAR, 0, HOUR_MS, 2 * HOUR_MS]})), {"t-0": 4}
    log.set_splits(ends)
    log.begin_plan(Credible(0, 3 * HOUR_MS))
    # the record of 2099 lies below, so that Kafka's look-up tells nothing
    assert log.first_after(0, {"t-0": 2}, ends) == {"t-0": Head(2, HOUR_MS)}
    assert log.first_after(-1, {"t-0": 1}, ends) == {"t-0": Head(1, 0)}
