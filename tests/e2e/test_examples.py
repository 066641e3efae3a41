"""The examples run as they stand."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx

from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS, SkewedTopic
from support.gated import write_batches

EXAMPLES = Path(__file__).parents[2] / "examples"
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
        arguments = [EXAMPLES / "foreach_batch.py", kafka.bootstrap, topic, coordinator.url, "--checkpoint", tmp_path, "--budget", 500]
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


def test_the_two_applications_of_the_example_wait_for_each_other_and_both_finish(kafka: KafkaBroker, topic: str, tmp_path: Path) -> None:
    spec = SkewedTopic(topic, records=2_000, span_hours=2)
    topics.load(kafka.bootstrap, spec)
    files = write_batches(tmp_path / "files", [[spec.t0_ms + part * HOUR_MS // 4] for part in range(8)])
    with CoordinatorProcess() as coordinator:
        config = {"max_drift_ms": HOUR_MS // 4, "catch_up": "strict", "expected_sources": ["kafka", "files"]}
        httpx.put(f"{coordinator.url}/v1/groups/two-applications", json=config).raise_for_status()
        running = []
        for what, where in (("kafka", [kafka.bootstrap, topic]), ("files", [files])):
            arguments = [
                EXAMPLES / "two_applications.py",
                what,
                *where,
                "--coordinator",
                coordinator.url,
                "--checkpoint",
                tmp_path / f"of {what}",
            ]
            command = [sys.executable, "-c", LAUNCH, *map(str, arguments)]
            running.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True))
        try:
            said = [application.communicate(timeout=400)[0] for application in running]
        finally:
            for application in running:
                if application.poll() is None:
                    os.killpg(application.pid, signal.SIGKILL)
        sources = httpx.get(f"{coordinator.url}/v1/groups/two-applications").json()["sources"]
    assert [application.returncode for application in running] == [0, 0], said
    assert all("the group is at" in text for text in said)
    assert said[1].count("1 rows") == 8
    assert {source["source"]: source["readers"][0]["state"] for source in sources} == {"kafka": "finished", "files": "finished"}
