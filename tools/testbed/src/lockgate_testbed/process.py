"""Child processes: started, awaited until they answer, stopped by their own pid, and never left
behind.
"""

import functools
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lockgate_testbed.errors import ChildFailed

GUARD = Path(__file__).with_name("guard.py")
POLL_S = 0.05
TAIL_LINES = 25
PORTS = range(20_000, 32_000)
# "22000-24000": the part of PORTS that this process and its children may give out. Test processes
# that run side by side get a part each. A port that one of them has chosen but not yet bound, or
# whose server is stopped for now, is then never given to a server of another one.
PORTS_OF = "LOCKGATE_PORTS"


@functools.cache
def _spawner() -> ThreadPoolExecutor:
    # Linux ties the parent-death signal to the *thread* that forked. This one lives as long as the
    # interpreter, whichever thread asks.
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="lockgate-spawner")


def free_ports(count: int) -> list[int]:
    """Give `count` different loopback ports that nobody listens on now, and that this process has
    not been given yet: the server of a given port may be stopped for a while.
    """
    # Not the ones the system gives to outgoing connections: while a server is stopped, a client
    # that keeps knocking at such a port may be given that very port for its own end, is then
    # connected to itself, and the server cannot come back.
    found: list[int] = []
    ports = _ports()
    with _giving:
        for port in random.sample(ports, len(ports)):
            if port not in _given and _is_free(port):
                _given.add(port)
                found.append(port)
            if len(found) == count:
                return found
    raise ChildFailed(f"no {count} free ports between {ports.start} and {ports.stop}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


_giving = threading.Lock()
_given: set[int] = set()


def share_of_ports(number: int, of: int) -> str:
    """Return the value of `PORTS_OF` for process `number` (from 0) of those side by side."""
    size = len(PORTS) // of
    start = PORTS.start + number * size
    return f"{start}-{start + size}"


def _ports() -> range:
    share = os.environ.get(PORTS_OF)
    return range(*map(int, share.split("-"))) if share else PORTS


def port_open(port: int) -> bool:
    """Whether somebody accepts connections on this loopback port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def await_true(holds: Callable[[], bool], timeout_s: float) -> bool:
    """Whether `holds()` came to hold within `timeout_s` seconds."""
    give_up = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > give_up:
            return False
        time.sleep(POLL_S)
    return True


def processor_seconds(pid: int) -> float:
    """Return the processor time (s) that all threads of a process on this machine have used. Linux
    only.
    """
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Child:
    """One child process. Its output goes to the file `log`, whose last lines are in the error when
    it fails.
    """

    def __init__(self, name: str, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.log = log
        self._started_at = log.stat().st_size if log.exists() else 0
        guarded = [sys.executable, "-I", "-S", str(GUARD), str(os.getpid()), *command]
        with log.open("ab") as out:

            def spawn() -> "subprocess.Popen[bytes]":
                # A session of its own: Ctrl-C reaches the parent alone, which then stops its
                # children in order.
                return subprocess.Popen(
                    guarded,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                    env={**os.environ, **(env or {})},
                )

            self._process = _spawner().submit(spawn).result()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def output(self) -> str:
        """Return the output of this process so far."""
        with self.log.open("rb") as log:
            log.seek(self._started_at)
            return log.read().decode(errors="replace")

    def await_ready(self, ready: Callable[[], bool], timeout_s: float) -> "Child":
        """Return once `ready()` holds. Raises `ChildFailed` if the process ends or `timeout_s`
        seconds pass; it is gone then.
        """
        give_up = time.monotonic() + timeout_s
        try:
            while not ready():
                if not self.alive:
                    raise self._failed(f"ended with exit code {self._process.returncode}")
                if time.monotonic() > give_up:
                    raise self._failed(f"was not ready within {timeout_s:g} s")
                time.sleep(POLL_S)
        except BaseException:
            self.kill()
            raise
        return self

    def wait(self, timeout_s: float) -> str:
        """Its output, once it has ended by itself. Raises `ChildFailed` if it ended with an error
        or still runs after `timeout_s` seconds; it is gone then.
        """
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self._failed(f"had not ended after {timeout_s:g} s") from None
        if code:
            raise self._failed(f"ended with exit code {code}")
        return self.output()

    def stop(self, timeout_s: float = 20.0) -> None:
        """SIGTERM, then SIGKILL after `timeout_s` seconds; no error if it has ended already."""
        if self.alive:
            self._process.terminate()
            try:
                self._process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone; no error if it has ended already."""
        if self.alive:
            self._process.kill()
        self._process.wait()

    def _failed(self, what: str) -> ChildFailed:
        tail = "\n".join(self.output().splitlines()[-TAIL_LINES:])
        return ChildFailed(f"{self.name} {what}. The end of {self.log}:\n{tail}")
