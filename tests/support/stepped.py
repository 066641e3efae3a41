"""A wall clock that steps for the processes that run by it, while their monotonic clocks go on.

Debian's libfaketime does not do here: with its monotonic clocks left alone, version 0.9.10 makes
`time.sleep` of Python 3.11 fail with EINVAL.
"""

import mmap
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from lockgate_testbed.errors import Missing

SOURCE = Path(__file__).with_name("stepped_clock.c")
_LONG = struct.Struct("l")


class SteppedClock:
    """A clock in `folder`. Start processes with `env` to have them run by it.

    Raises `Missing` where no C compiler can build the library that they preload.
    """

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("cc")
        if compiler is None or sys.platform != "linux":
            raise Missing("no clock can be stepped: this needs Linux and a C compiler (Debian: apt-get install gcc)")
        library, self._file = folder / "stepped_clock.so", folder / "clock"
        command = [compiler, "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode:
            raise Missing(f"no clock can be stepped: {compiler} could not build {SOURCE}:\n{built.stderr}")
        self._file.write_bytes(_LONG.pack(0))
        self.env = {"LD_PRELOAD": str(library), "STEPPED_CLOCK": str(self._file)}

    def step(self, ahead_s: int) -> None:
        """Put the clock ahead of the machine's by so many seconds, or behind it."""
        with self._file.open("r+b") as file, mmap.mmap(file.fileno(), _LONG.size) as shared:
            shared[:] = _LONG.pack(ahead_s)
