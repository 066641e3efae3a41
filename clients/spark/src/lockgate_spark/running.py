"""Registers the aligned runs and gates of this process."""

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar


class Running(Protocol):
    @property
    def closed(self) -> bool: ...


R = TypeVar("R", bound=Running)


class Registry:
    """Stores the aligned runs and gates of a process. Thread-safe."""

    def __init__(self) -> None:
        self._running: dict[tuple[type, str, str], Running] = {}
        self._lock = threading.Lock()

    def of_run(self, kind: type[R], query_id: str, run_id: str, make: Callable[[], R]) -> R:
        """Return the object of a run, which the first call makes. Remove all that have ended."""
        with self._lock:
            for ended in [key for key, one in self._running.items() if one.closed]:
                del self._running[ended]
            key = (kind, query_id, run_id)
            one = self._running.get(key)
            if one is None:
                one = self._running[key] = make()
            assert isinstance(one, kind)
            return one

    def of_query(self, kind: type[R], query_id: str | None, ended: bool = False) -> R | None:
        """Return the object of this kind of a query's present run, or of its last ended run."""
        with self._lock:
            found = [one for (_, of, _), one in self._running.items() if of == query_id and isinstance(one, kind)]
        return next((one for one in reversed(found) if one.closed == ended), None)

    def all_of(self, kind: type[R]) -> list[R]:
        """Return all objects of this kind. Some may have ended."""
        with self._lock:
            return [one for one in self._running.values() if isinstance(one, kind)]


running = Registry()
