"""A disk of its own that can be filled: a small tmpfs."""

import contextlib
import shutil
import subprocess
from pathlib import Path

from lockgate_testbed.errors import Missing

_BLOCK = bytes(65_536)


class SmallDisk:
    """A file system of `megabytes` that is mounted at `folder` inside `with`. `fill` leaves no byte
    on it, and `free` deletes the filling.

    Raises `Missing` where this process may not mount.
    """

    def __init__(self, folder: Path, megabytes: int = 64) -> None:
        self.folder, self._filling = folder, folder / "filling"
        self._mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "lockgate-tests", str(folder)]

    def __enter__(self) -> "SmallDisk":
        self.folder.mkdir(parents=True, exist_ok=True)
        if shutil.which("mount") is None:
            raise Missing("no disk can be filled: there is no `mount`")
        done = subprocess.run(self._mount, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing(f"no disk can be filled, since root alone may mount one: {done.stderr.strip()}")
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)

    def fill(self) -> None:
        """Write until there is no space left."""
        with contextlib.suppress(OSError), self._filling.open("wb", buffering=0) as file:
            while file.write(_BLOCK):
                pass

    def free(self) -> None:
        """Give back the space; no error if nothing was filled."""
        self._filling.unlink(missing_ok=True)
