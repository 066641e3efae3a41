"""The examples run unchanged."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import httpx
import pytest

from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS, SkewedTopic
from support.gated import write_batches

EXAMPLES = Path(__file__).parents[2] / "examples"
# The example takes the session that it finds: here one with the Kafka connector on its classpath,
# as --packages would put it there.
LAUNCH = """
import runpy, sys
from lockgate_testbed.spark import session
session("example")
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.long
def test_the_foreach_batch_example_prints_what_was_paused_and_resumed_and_its_executors_report(
    kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.load(kafka.bootstrap, SkewedTopic(topic, records=5_000, span_hours=2))
    with CoordinatorProcess() as coordinator:
        arguments = [
            EXAMPLES / "foreach_batch.py",
            kafka.bootstrap,
            topic,
            coordinator.url,
            "--checkpoint",
            tmp_path,
            "--budget",
            500,
        ]
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
    assert "blocked by" in text


BATCH = re.compile(r"batch \d+: \d+ rows, (\S+) to (\S+); the group is at (\S+)")


def ms_of(iso: str) -> int:
    return int(datetime.fromisoformat(iso.replace("Z", "+00:00")).timestamp() * 1000)


def application(*arguments: object) -> "subprocess.Popen[str]":
    """One of the example's two, in a process group of its own."""
    command = [sys.executable, "-c", LAUNCH, *map(str, [EXAMPLES / "two_applications.py", *arguments])]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def lines_until(child: "subprocess.Popen[str]", words: str) -> Iterator[str]:
    """Its output, up to a line with these words. It is killed where none comes."""
    assert child.stdout is not None
    timer = threading.Timer(400, os.killpg, (child.pid, signal.SIGKILL))
    timer.start()
    try:
        for line in child.stdout:
            yield line
            if words in line:
                return
    finally:
        timer.cancel()


@pytest.mark.long
def test_the_two_applications_of_the_example_wait_for_each_other_and_both_finish(
    kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    spec = SkewedTopic(topic, records=2_000, span_hours=2)
    topics.load(kafka.bootstrap, spec)
    files = write_batches(tmp_path / "files", [[spec.t0_ms + part * HOUR_MS // 4] for part in range(8)])
    with CoordinatorProcess() as coordinator:
        config = {"max_drift_ms": HOUR_MS // 4, "catch_up": "strict", "expected_sources": ["kafka", "files"]}
        httpx.put(f"{coordinator.url}/v1/groups/two-applications", json=config).raise_for_status()
        common = ["--coordinator", coordinator.url, "--checkpoint"]
        running = {"kafka": application("kafka", kafka.bootstrap, topic, *common, tmp_path / "of kafka")}
        try:
            said = {"kafka": "".join(lines_until(running["kafka"], "blocked by files/0")), "files": ""}
            running["files"] = application("files", files, *common, tmp_path / "of files")
            for what, child in running.items():
                said[what] += child.communicate(timeout=400)[0]
        finally:
            for child in running.values():
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGKILL)
        sources = httpx.get(f"{coordinator.url}/v1/groups/two-applications", timeout=60).json()["sources"]
    assert [child.returncode for child in running.values()] == [0, 0], said
    assert "kafka waits for its group" in said["kafka"], said
    assert said["files"].count("1 rows") == 8
    for what, text in said.items():
        # Kafka is read up to where the group allows, and a file is handed on where the group allows
        # its first row.
        ahead = [
            ms_of(latest if what == "kafka" else first) - ms_of(group) for first, latest, group in BATCH.findall(text)
        ]
        assert len(ahead) >= 8, text
        assert max(ahead) <= HOUR_MS // 4, text
    assert {source["source"]: source["readers"][0]["state"] for source in sources} == {
        "kafka": "finished",
        "files": "finished",
    }
