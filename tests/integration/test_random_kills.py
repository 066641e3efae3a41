"""A driver that is killed at random, again and again, loses and doubles nothing."""

import os
import random
import threading
from pathlib import Path

import pytest

from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic
from support.drivers import Driver, Order
from support.exact_sink import Written, all_rows

KILLS = int(os.environ.get("LOCKGATE_KILLS", "20"))
SEED = int(os.environ.get("LOCKGATE_KILL_SEED", str(random.randrange(2**32))))
MOST_LINES = 5  # started, begins and wrote of two batches
# that the topic has: a run gets on by two, and by what it reads until the kill comes
BATCHES_A_KILL = 6


@pytest.mark.long
def test_a_driver_killed_twenty_times_at_random_loses_and_doubles_no_row(
    kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    print(f"LOCKGATE_KILL_SEED={SEED}")
    chance = random.Random(SEED)
    spec = SkewedTopic(topic, records=20_000, late_start_hours=6)
    topics.load(kafka.bootstrap, spec)
    order = Order(
        "killed", kafka.bootstrap, topic, budget=spec.records // (BATCHES_A_KILL * KILLS), folder=str(tmp_path)
    )
    for turn in range(KILLS):
        driver = Driver(order)
        driver.read_lines(chance.randint(1, MOST_LINES))
        # No synchronisation: the random moment of the kill. A line is said at the start or in
        # foreachBatch, so a kill at once would hit a plan, or what Spark does between the offset
        # log and the batch and between the batch and the commit log, by luck only.
        later = chance.uniform(0, 0.5)
        threading.Event().wait(later)
        assert driver.runs, f"the topic was read before kill {turn + 1}"
        print(f"kill {turn + 1}, {later:.3f} s after {driver.told[-1]!r}", flush=True)
        driver.kill()
    Driver(order).finish()
    written = Written.to(Path(order.out))
    assert written.rows == all_rows(spec.counts()), f"with LOCKGATE_KILL_SEED={SEED}"
    assert not written.above_the_ceiling
