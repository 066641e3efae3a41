"""A Python reader whose machine's clock is set back reads on, though nothing comes from Kafka that
would wake it.
"""

from pathlib import Path

import pytest

from lockgate.watermark import MAX
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from support.answers import wait_for
from support.http_readers import HttpReader
from support.left_out import or_left_out
from support.rotated import Tokens
from support.schedules.world import T0, started
from support.services import make_group
from support.stepped import SteppedClock

pytestmark = pytest.mark.kafka

RECORDS, STEP_MS, DRIFT_MS = 100, 100, 2_000
HOUR_S = 3_600


def test_reader_reads_on_after_its_clock_was_set_back(kafka: KafkaBroker, topic: str, tmp_path: Path) -> None:
    clock = or_left_out(lambda: SteppedClock(tmp_path))
    topics.fill(kafka.bootstrap, topic, [[(T0 + STEP_MS * number, number) for number in range(RECORDS)]])
    with CoordinatorProcess() as coordinator:
        make_group(coordinator.url, topic, max_drift_ms=DRIFT_MS, update_interval_ms=100)
        other = HttpReader(coordinator.url, topic, "other")
        other.report(T0)
        settings = {
            "topic": topic,
            "bootstrap": kafka.bootstrap,
            "group": topic,
            "url": coordinator.url,
            "token_file": str(Tokens(tmp_path).of_clients),
            "work_s": 0,
        }
        reader = started(settings, tmp_path / "reader", clock.env)

        def lines(kind: str) -> int:
            written = tmp_path / "reader.lines"
            return written.exists() and sum(each.startswith(kind) for each in written.read_text().splitlines())

        def await_exchanges(count: int) -> None:
            enough = lines("S") + count
            wait_for(lambda: other.report(T0) and lines("S") >= enough, 30)

        try:
            wait_for(lambda: lines("R") == DRIFT_MS // STEP_MS + 1)  # up to the read limit
            for ahead_s in (HOUR_S, 0):
                await_exchanges(3)
                clock.step(ahead_s)
            await_exchanges(3)
            other.report(MAX)
            wait_for(lambda: lines("R") == RECORDS, 30)
        finally:
            reader.kill()
