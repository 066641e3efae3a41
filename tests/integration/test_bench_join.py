"""The benchmark of a join's state, small. Its least is the least, its delay is enough, and an
aligned join keeps less than a native one.
"""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.more.join import Join, broken, delay_that_loses_nothing, join, least, load, measure, table
from benchmarks.skew.history import Ends
from benchmarks.skew.shapes import Topic
from pyspark.sql import SparkSession

from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS

SMALL = join(2_000, batches=8, within_ms=6 * HOUR_MS)
PLACES = [(topic.name, partition) for topic in SMALL.topics for partition in range(len(topic.logs))]


def boundaries(count: int) -> list[Ends]:
    rng = np.random.default_rng(7)
    sizes = [len(log) for topic in SMALL.topics for log in topic.logs]
    cuts = [np.sort(rng.integers(0, size + 1, count)) for size in sizes]
    return [{place: int(cut[n]) for place, cut in zip(PLACES, cuts, strict=True)} for n in range(count)]


def test_the_least_are_the_rows_that_an_unread_record_may_be_joined_with() -> None:
    orders = Topic("orders", (np.array([0, 10, 20, 30]), np.array([5, 25])), (), 1)
    payments = Topic("payments", (np.array([3, 14, 26, 33]),), (), 1)
    of = Join(orders, payments, within_ms=10)
    level = {
        ("orders", 0): 3,
        ("orders", 1): 1,
        ("payments", 0): 1,
    }  # payments are unread from 14 on, so the order of 0 is done with
    payments_first = {
        ("orders", 0): 1,
        ("payments", 0): 4,
    }  # orders are unread from 5 on, so the payment of 3 is done with
    assert least(of, [level, payments_first]) == (3, 3)


def test_the_longer_delay_is_enough_for_every_record_and_no_longer_than_it_has_to_be() -> None:
    history = boundaries(5)
    delay = delay_that_loses_nothing(SMALL, history)
    late = []
    for boundary in history:
        highest = min(
            max(int(log[: boundary[t.name, n]].max(initial=0)) for n, log in enumerate(t.logs)) for t in SMALL.topics
        )
        late += [
            highest - int(log[boundary[t.name, n] :].min(initial=2**62))
            for t in SMALL.topics
            for n, log in enumerate(t.logs)
        ]
    assert delay == max(late) + 1


@pytest.mark.long
def test_aligned_keeps_fewer_rows_than_native_and_loses_no_pair(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path
) -> None:
    load(kafka.bootstrap, SMALL)
    native, longer, aligned, fewest = outcomes = measure(spark, kafka.bootstrap, SMALL)
    assert native.pairs_lost > 0
    assert longer.pairs_lost == aligned.pairs_lost == 0
    assert fewest.peak <= aligned.peak < longer.peak
    assert [claim for claim in broken(outcomes) if "lost" in claim] == []
    assert table(outcomes).count("\n") == 6
    assert len(aligned.state) == len(fewest.state)
