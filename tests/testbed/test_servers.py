import os
import select
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from lockgate_testbed import topics
from lockgate_testbed.errors import ChildFailed
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.process import PORTS_OF, Child, free_ports, port_open, processor_seconds, share_of_ports
from lockgate_testbed.redis import RedisServer


def gone(pid: int) -> bool:
    """Whether no process has this id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_broker_comes_back_from_an_outage_with_its_data_and_leaves_nothing_behind(kafka: KafkaBroker) -> None:
    with KafkaBroker() as broker:  # one of its own: the shared one is needed by others
        topics.create(broker.bootstrap, "kept", 3)
        address, first = broker.bootstrap, broker.pid
        broker.stop()
        assert broker.pid is None
        broker.start()

        assert (broker.bootstrap, len(topics.partitions(broker.bootstrap, "kept"))) == (address, 3)
        second, folder = broker.pid, broker.data

    assert first is not None
    assert second is not None
    assert gone(first)
    assert gone(second)
    assert not folder.exists()


def test_a_killed_redis_starts_again_on_its_port_and_empty(redis_server: RedisServer) -> None:
    with RedisServer() as server:
        url = server.url
        server.kill()
        assert not port_open(server.port)
        server.start()

        assert server.url == url
        assert port_open(server.port)


def test_a_child_that_ends_early_is_reported_with_the_end_of_its_log(tmp_path: Path) -> None:
    child = Child("the child", [sys.executable, "-c", "print('no such store'); raise SystemExit(3)"], tmp_path / "log")

    with pytest.raises(ChildFailed, match=r"the child ended with exit code 3(.|\n)*no such store"):
        child.await_ready(lambda: False, timeout_s=30)


def test_a_child_that_is_never_ready_is_killed(tmp_path: Path) -> None:
    child = Child("the child", ["sleep", "600"], tmp_path / "log")

    with pytest.raises(ChildFailed, match=r"was not ready within 0\.1 s"):
        child.await_ready(lambda: False, timeout_s=0.1)
    assert gone(child.pid)


def test_a_child_that_does_not_heed_sigterm_is_killed(tmp_path: Path) -> None:
    deaf = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
    )
    child = Child("the child", [sys.executable, "-c", deaf], tmp_path / "log").await_ready(
        lambda: (tmp_path / "log").read_text() != "", 30
    )

    child.stop(timeout_s=0.1)

    assert gone(child.pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's death")
def test_a_child_dies_with_its_parent_whichever_thread_started_it(tmp_path: Path) -> None:
    log, source = tmp_path / "log", tmp_path / "parent.py"
    source.write_text(
        "import pathlib, sys, threading, time\n"
        "from lockgate_testbed.process import Child\n"
        "def start():\n"
        "    child = Child('the child', ['sh', '-c', 'echo up; exec sleep 600'], pathlib.Path(sys.argv[1]))\n"
        "    child.await_ready(lambda: child.output() != '', 30); print(child.pid, flush=True)\n"
        "starter = threading.Thread(target=start); starter.start(); starter.join(); time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, str(source), str(log)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not gone(pid)

        parent.kill()

    # Nobody reaps an orphan of an orphan in a container without an init: dead is enough.
    assert eventually_dead(pid)


def eventually_dead(pid: int) -> bool:
    """Whether a process that is not our child ends; waits through a descriptor of it rather than by
    polling.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 30)[0])
    finally:
        os.close(descriptor)


def test_free_ports_are_not_those_of_outgoing_connections() -> None:
    ports = free_ports(3)

    assert len(set(ports)) == 3
    assert all(port < 32_768 for port in ports)


def test_processor_time_is_what_the_process_worked_and_not_what_it_waited() -> None:
    outer, before, inner = time.process_time(), processor_seconds(os.getpid()), time.process_time()
    while time.process_time() - inner < 0.3:
        sum(range(100_000))
    within, after, over_all = time.process_time() - inner, processor_seconds(os.getpid()), time.process_time() - outer
    assert within - 0.1 <= after - before <= over_all + 0.1
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as waits:
        assert processor_seconds(waits.pid) < 0.1


def test_processes_side_by_side_give_out_ports_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    for number in range(3):
        monkeypatch.setenv(PORTS_OF, share_of_ports(number, 3))
        given.append(set(free_ports(50)))
    assert [max(one) < min(other) for one, other in pairwise(given)] == [True, True]
