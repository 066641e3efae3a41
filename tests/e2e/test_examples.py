"""The examples run as they stand."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic

EXAMPLE = Path(__file__).parents[2] / "examples" / "foreach_batch.py"
# The example takes the session that it finds: here one with the Kafka connector on its classpath, as --packages would put it there.
LAUNCH = """
import runpy, sys
from lockgate_testbed.spark import session
session("example")
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_the_foreach_batch_example_prints_what_was_paused_and_resumed_and_its_executors_report(
    kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.load(kafka.bootstrap, SkewedTopic(topic, records=5_000, span_hours=2))
    with CoordinatorProcess() as coordinator:
        arguments = [EXAMPLE, kafka.bootstrap, topic, coordinator.url, "--checkpoint", tmp_path, "--budget", 500]
        command = [sys.executable, "-c", LAUNCH, *map(str, arguments)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as example:
            assert example.stdout is not None
            said = []
            for line in example.stdout:
                said.append(line)
                if line.startswith("batch 8"):
                    break
            os.killpg(example.pid, signal.SIGKILL)
    text = "".join(said)
    assert "paused:" in text
    assert "resumed:" in text
    assert "held by" in text
