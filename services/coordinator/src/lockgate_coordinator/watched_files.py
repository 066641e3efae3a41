"""Files that may be replaced while the process runs."""

import os
from collections.abc import Iterable
from pathlib import Path


class WatchedFiles:
    """Files that `have_changed` checks for changes. A file may be missing."""

    def __init__(self, paths: Iterable[str | Path]) -> None:
        self._paths = tuple(paths)
        self._seen = self._signatures()

    def have_changed(self) -> bool:
        """Return whether a file has changed since the last call or, at first, since `__init__`."""
        before, self._seen = self._seen, self._signatures()
        return self._seen != before

    def _signatures(self) -> list[tuple[int, int, int] | None]:
        """Return the modification time (ns), size and inode of each file, or None if it is missing.
        Writing in place changes the first two. Replacing the file, or changing a link, changes the
        third.
        """
        found = list[tuple[int, int, int] | None]()
        for path in self._paths:
            try:
                state = os.stat(path)
                found.append((state.st_mtime_ns, state.st_size, state.st_ino))
            except OSError:
                found.append(None)
        return found
