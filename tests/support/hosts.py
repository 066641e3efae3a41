"""Hosts of the server's extension: the Python processes beside a driver, found by a mark in their
environment. Linux only.
"""

import os
import signal
from pathlib import Path

MARK = "LOCKGATE_TEST_MARK"
MODULE = "lockgate_spark.host"


def hosts(mark: str) -> list[int]:
    """The process ids of the hosts whose driver was started with this mark."""
    return [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit() and _is_one(folder, mark)]


def kill_host(mark: str, by: signal.Signals = signal.SIGKILL) -> int | None:
    """The signal to the host; its process id, or None where there is none at the moment."""
    found = hosts(mark)
    for pid in found:
        os.kill(pid, by)
    return found[0] if found else None


def _is_one(folder: Path, mark: str) -> bool:
    try:
        called = folder.joinpath("cmdline").read_bytes().split(b"\0")
        return MODULE.encode() in called and f"{MARK}={mark}".encode() in folder.joinpath("environ").read_bytes()
    except OSError:
        return False  # it has just ended
