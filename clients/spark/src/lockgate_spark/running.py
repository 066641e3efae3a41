"""Registers the aligned runs and gates of this process."""

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar


class Running(Protocol):
    """The aligned run, or the gate, of one run of one query."""

    @property
    def closed(self) -> bool:
        """Whether the run or gate has ended."""


R = TypeVar("R", bound=Running)


class Registry:
    """Stores the aligned runs and gates of a process by Spark's query id and run id, for all
    threads.
    """

    def __init__(self) -> None:
        self._running: dict[tuple[type, str, str], Running] = {}
        # A gate looks up the aligned run of its query while it is being made, on the same thread.
        self._lock = threading.RLock()

    def of_run(self, kind: type[R], query_id: str, run_id: str, make: Callable[[], R]) -> R:
        """Return the object of this kind of a run, which the first call makes with `make`. Each
        call first removes all objects that have ended.
        """
        with self._lock:
            for ended in [key for key, one in self._running.items() if one.closed]:
                del self._running[ended]
            key = (kind, query_id, run_id)
            one = self._running.get(key)
            if one is None:
                one = self._running[key] = make()
            assert isinstance(one, kind)
            return one

    def of_query(self, kind: type[R], query_id: str | None) -> R | None:
        """Return the object of this kind of a query's present run, or None."""
        return next((one for key, one in self._of_kind(kind) if key[1] == query_id and not one.closed), None)

    def ended(self, kind: type[R], query_id: str) -> R | None:
        """Return the object of this kind of a query's last ended run, or None."""
        return next((one for key, one in reversed(self._of_kind(kind)) if key[1] == query_id and one.closed), None)

    def all_of(self, kind: type[R]) -> list[R]:
        """Return all objects of this kind. Some may have ended."""
        return [one for _, one in self._of_kind(kind)]

    def _of_kind(self, kind: type[R]) -> list[tuple[tuple[type, str, str], R]]:
        with self._lock:
            return [(key, one) for key, one in self._running.items() if isinstance(one, kind)]


running = Registry()
