"""The Python process beside the driver: its start, its end, and queries that outlive it."""

import os
import signal
import sys
from pathlib import Path

import pytest

from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic
from lockgate_testbed.spark_connect import ConnectServer, client, client_python
from support.answers import wait_for

PROGRAMS = Path(__file__).with_name("programs")
PATIENCE_S = 400.0


def hosts_of(driver: int) -> list[int]:
    """The process ids of a driver's hosts. Linux only."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(process.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            command = process.joinpath("cmdline").read_bytes()
        except OSError:
            continue  # it has ended meanwhile
        if parent == driver and b"lockgate_spark.host" in command:
            found.append(int(process.name))
    return found


def test_killed_host_is_replaced_and_no_row_is_lost_or_doubled(
    server: ConnectServer, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    assert server.pid is not None
    program = (PROGRAMS / "host_dies.py", tmp_path, kafka.bootstrap, skewed.name)
    running = client("client", tmp_path / "log", *program, server=server)
    wait_for(lambda: (tmp_path / "batches").exists(), PATIENCE_S)
    (first,) = hosts_of(server.pid)
    os.kill(first, signal.SIGKILL)

    said = running.wait(PATIENCE_S).splitlines()[-1]

    rows = sum(skewed.counts())
    assert said == f'{{"counted": {rows}, "dropped": 0}}'
    (second,) = hosts_of(server.pid)
    assert second != first


def ignores_ctrl_c(process: int) -> bool:
    """Whether a process ignores SIGINT. Linux only."""
    (line,) = (line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("SigIgn:"))
    return bool(int(line.split()[1], 16) >> (signal.SIGINT - 1) & 1)


def test_the_host_goes_on_at_ctrl_c_and_ends_with_a_driver_that_is_killed(
    server: ConnectServer, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    assert server.pid is not None
    client("client", tmp_path / "log", *asks_once(kafka, skewed, tmp_path), server=server).wait(PATIENCE_S)
    (host,) = hosts_of(server.pid)
    assert ignores_ctrl_c(host)
    server.kill()

    wait_for(lambda: not Path(f"/proc/{host}").exists(), 30)


@pytest.mark.long
def test_python_without_the_package_is_an_error_with_advice(
    server_jar: Path, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    bare = str(client_python())
    with ConnectServer(jars=[server_jar], conf={"spark.lockgate.python": bare}) as without:
        program = client("client", tmp_path / "log", *asks_once(kafka, skewed, tmp_path), server=without)
        said = program.wait(PATIENCE_S)

    assert f"{bare} (from spark.lockgate.python) on the driver's machine has no lockgate_spark" in said
    assert f"run `{bare} -m pip install lockgate-spark==" in said


@pytest.mark.long
def test_host_that_dies_at_a_stream_is_replaced_and_its_log_is_kept(
    server_jar: Path, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nexec {sys.executable} {PROGRAMS / 'host_that_dies.py'}\n")
    python.chmod(0o755)
    conf = {"spark.lockgate.python": str(python), "spark.python.authenticate.socketTimeout": "180s"}
    marker = {"LOCKGATE_TEST_MARKER": str(tmp_path / "asked")}
    with ConnectServer(jars=[server_jar], conf=conf, env=marker) as mortal:
        program = (PROGRAMS / "host_dies.py", tmp_path, kafka.bootstrap, skewed.name)
        said = client("client", tmp_path / "log", *program, server=mortal).wait(PATIENCE_S).splitlines()[-1]
        logged = mortal.log.read_text()

    assert said == f'{{"counted": {sum(skewed.counts())}, "dropped": 0}}'
    assert r"ERROR lockgate: the first host was asked\nand says it in two lines" in logged
    assert "ERROR lockgate: the second host was asked" in logged
    assert "an information" not in logged


@pytest.mark.long
def test_query_stops_although_its_host_dies_and_no_other_starts(
    server_jar: Path, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    python, only = tmp_path / "python", tmp_path / "started"
    script = f"mkdir {only} && exec {sys.executable} {PROGRAMS / 'host_that_dies_at_the_stop.py'}"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    with ConnectServer(jars=[server_jar], conf={"spark.lockgate.python": str(python)}) as mortal:
        program = (PROGRAMS / "stops.py", tmp_path, kafka.bootstrap, skewed.name)
        said = client("client", tmp_path / "log", *program, server=mortal).wait(PATIENCE_S)

    assert said.splitlines()[-1] == "stopped"


@pytest.mark.long
def test_call_to_a_stopped_host_is_answered_by_the_next_one(
    server_jar: Path, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    with ConnectServer(jars=[server_jar], env={"JAVA_TOOL_OPTIONS": "-Dlockgate.host.step.ms=250"}) as hasty:
        client("before", tmp_path / "before", *asks_once(kafka, skewed, tmp_path), server=hasty).wait(PATIENCE_S)
        (first,) = hosts_of(hasty.pid)
        os.kill(first, signal.SIGSTOP)
        program = (PROGRAMS / "asks_at_once.py", tmp_path, kafka.bootstrap, skewed.name, 4)
        said = client("client", tmp_path / "log", *program, server=hasty).wait(PATIENCE_S)

    assert said.splitlines()[-1] == "[7, 7, 7, 7]"


def asks_once(kafka: KafkaBroker, skewed: SkewedTopic, folder: Path) -> tuple[object, ...]:
    """A program that asks for alignment, and prints what it is told."""
    return PROGRAMS / "refusals.py", folder, kafka.bootstrap, skewed.name
