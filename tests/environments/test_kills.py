"""Drivers and hosts that are killed at seeded moments: nothing is lost, nothing comes twice."""

import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.process import Child
from lockgate_testbed.skew import HOUR_MS, SkewedTopic
from lockgate_testbed.spark_connect import ConnectServer
from support.answers import wait_for
from support.environments import PATIENCE_S, Environment, OverConnect, finished
from support.exact_sink import all_rows
from support.hosts import MARK, hosts, kill_host
from support.http_readers import HttpReader
from support.stream_jobs import StreamJob, apart

pytestmark = pytest.mark.long

SEED = int(os.environ.get("LOCKGATE_KILL_SEED", str(random.randrange(2**32))))
DRIVERS = 4
HOSTS = int(os.environ.get("LOCKGATE_KILLS", "20"))
BATCHES_A_KILL = 6
OF_SEVERAL = max(1, HOSTS // 4)
STOPS = 4
# A host is then missed after three seconds. A healthy one that is killed by that is one kill more.
HASTY = {"JAVA_TOOL_OPTIONS": "-Dlockgate.host.step.ms=250"}
GROUP = {"max_drift_ms": 6 * HOUR_MS, "catch_up": "joint", "lease_ms": 600_000, "expected_sources": ["two", "peer"]}


@pytest.fixture
def marked(server_jar: Path, tmp_path: Path) -> Iterator[ConnectServer]:
    with ConnectServer(jars=[server_jar], env={MARK: str(tmp_path)}) as server:
        yield server


def skewed(kafka: KafkaBroker, topic: str) -> SkewedTopic:
    spec = SkewedTopic(topic, weights=(1, 2, 4, 4), records=12_000, late_start_hours=6)
    topics.load(kafka.bootstrap, spec)
    return spec


def later(chance: random.Random, most_s: float) -> float:
    """Waits for a random time; no synchronisation, but the random moment of a kill."""
    waited = chance.uniform(0, most_s)
    threading.Event().wait(waited)
    return waited


def planned(job: StreamJob) -> int:
    return sum(1 for file in (job.checkpoint / "offsets").glob("*") if file.name.isdigit())


def test_a_host_that_is_killed_twenty_times_loses_and_doubles_no_row(
    marked: ConnectServer, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    print(f"LOCKGATE_KILL_SEED={SEED}")
    chance, spec = random.Random(SEED), skewed(kafka, topic)
    budget = spec.records // (BATCHES_A_KILL * HOSTS)
    job = StreamJob("host", kafka.bootstrap, topic, tmp_path / "job", budget).aligned()
    running = OverConnect(marked).start(job)
    kill_hosts(running, job, str(tmp_path), chance, HOSTS)

    finished(running)

    assert job.rows == all_rows(spec.counts()), f"with LOCKGATE_KILL_SEED={SEED}"
    assert max(apart(spec, ends) for ends in job.batches_planned) == 0


def test_a_host_that_is_stopped_and_not_dead_is_missed_and_killed_and_no_row_is_lost_or_doubled(
    server_jar: Path, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    print(f"LOCKGATE_KILL_SEED={SEED}")
    chance, spec = random.Random(SEED), skewed(kafka, topic)
    budget = spec.records // (BATCHES_A_KILL * STOPS)
    with ConnectServer(jars=[server_jar], env={MARK: str(tmp_path), **HASTY}) as server:
        job = StreamJob("stopped", kafka.bootstrap, topic, tmp_path / "job", budget).aligned()
        running = OverConnect(server).start(job)
        kill_hosts(running, job, str(tmp_path), chance, STOPS, signal.SIGSTOP)
        finished(running)
        told = server.log.read_text()

    assert job.rows == all_rows(spec.counts()), f"with LOCKGATE_KILL_SEED={SEED}"
    assert told.count("runs, but has not answered for 3 s") >= STOPS
    assert not hosts(str(tmp_path))


def kill_hosts(
    running: Child, job: StreamJob, mark: str, chance: random.Random, times: int, by: signal.Signals = signal.SIGKILL
) -> None:
    """So many hosts, one after the other, each at a random moment after another plan."""
    for turn in range(times):
        before = planned(job)
        wait_for(lambda: not running.alive or (planned(job) > before and hosts(mark)), PATIENCE_S)  # noqa: B023
        waited = later(chance, 1.0)
        assert running.alive, running.output()
        signalled = f"{by.name} {turn + 1} to host {kill_host(mark, by)}"
        print(f"{signalled}, {waited:.3f} s after plan {planned(job)}", flush=True)


def test_a_host_killed_amid_a_query_of_two_sources_in_a_group_loses_no_row_and_the_group_goes_on(
    marked: ConnectServer, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    print(f"LOCKGATE_KILL_SEED={SEED}")
    chance, spec = random.Random(SEED), skewed(kafka, topic)
    other = skewed(kafka, f"{topic}-too")
    budget = spec.records // (BATCHES_A_KILL * OF_SEVERAL)
    job = StreamJob("two", kafka.bootstrap, topic, tmp_path / "job", budget, also=other.name)
    with CoordinatorProcess() as coordinator:
        httpx.put(f"{coordinator.url}/v1/groups/pair", json=GROUP).raise_for_status()
        peer = HttpReader(coordinator.url, "pair", "peer")
        peer.report(spec.t0_ms + 48 * HOUR_MS)
        aligned = job.aligned(**{"coordinator.url": coordinator.url, "coordinator.group": "pair"})
        running = OverConnect(marked).start(aligned)
        kill_hosts(running, aligned, str(tmp_path), chance, OF_SEVERAL)
        finished(running)
        state = httpx.get(f"{coordinator.url}/v1/groups/pair", timeout=60).raise_for_status().json()

    twice = {row: 2 * count for row, count in all_rows(spec.counts()).items()}
    assert aligned.rows == twice, f"with LOCKGATE_KILL_SEED={SEED}"
    assert {one["source"] for one in state["sources"]} == {"peer", "two"}


def test_a_connect_server_killed_at_random_loses_and_doubles_no_row_and_leaves_no_host(
    marked: ConnectServer, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    print(f"LOCKGATE_KILL_SEED={SEED}")
    chance, spec = random.Random(SEED), skewed(kafka, topic)
    job = StreamJob("server", kafka.bootstrap, topic, tmp_path / "job", 300).aligned()
    for turn in range(DRIVERS):
        running, before = OverConnect(marked).start(job), planned(job)
        wait_for(lambda: not running.alive or planned(job) > before + 1, PATIENCE_S)  # noqa: B023
        print(f"kill {turn + 1}, {later(chance, 1.0):.3f} s after plan {planned(job)}", flush=True)
        assert running.alive, running.output()
        marked.kill()
        running.kill()
        wait_for(lambda: not hosts(str(tmp_path)))
        marked.start()

    finished(OverConnect(marked).start(job))

    assert job.rows == all_rows(spec.counts()), f"with LOCKGATE_KILL_SEED={SEED}"


def test_a_program_in_scala_killed_at_random_loses_and_doubles_no_row(
    in_scala: Environment, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    print(f"LOCKGATE_KILL_SEED={SEED}")
    chance, spec = random.Random(SEED), skewed(kafka, topic)
    job = StreamJob("driver", kafka.bootstrap, topic, tmp_path / "job", 300).aligned()
    for turn in range(DRIVERS):
        running, before = in_scala.start(job), planned(job)
        wait_for(lambda: not running.alive or planned(job) > before + 1, PATIENCE_S)  # noqa: B023
        print(f"kill {turn + 1}, {later(chance, 1.0):.3f} s after plan {planned(job)}", flush=True)
        assert running.alive, running.output()
        running.kill()

    finished(in_scala.start(job))

    assert job.rows == all_rows(spec.counts()), f"with LOCKGATE_KILL_SEED={SEED}"
