"""Measurements of a store's operations: how long they take, and how many fail."""

from collections import Counter
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any, cast

from lockgate_coordinator.store.base import Store, StoreUnavailable
from lockgate_coordinator.telemetry.histogram import Histogram

STEPS = (
    *("load", "commit", "load_splits", "commit_splits", "discard"),
    *("read_journal", "read_samples", "names", "count", "ping"),
)


class StoreFigures:
    """The measurements of one store.

    Attributes:
        durations: The durations of answered calls, by operation.
        errors: The number of failed calls, by operation.
        conflicts: The number of commits that were refused because another one came first.
    """

    def __init__(self) -> None:
        self.durations = {step: Histogram() for step in STEPS}
        self.errors: Counter[str] = Counter()
        self.conflicts = 0

    def measured(self, store: Store) -> Store:
        """Return a wrapper of `store` that measures the operations in `STEPS`."""
        return cast("Store", _Measured(store, {step: self._step(store, step) for step in STEPS}))

    def _step(self, store: Store, name: str) -> Callable[..., Awaitable[Any]]:
        durations = self.durations[name]

        async def measured(*arguments: Any, **named: Any) -> Any:
            began = perf_counter()
            try:
                answer = await getattr(store, name)(*arguments, **named)
            except StoreUnavailable:
                self.errors[name] += 1
                raise
            durations.observe(perf_counter() - began)
            # With the same version, only the cached time was wrong: nobody else has committed.
            if answer is False or (name == "commit" and answer and answer.version != arguments[0].version):
                self.conflicts += 1
            return answer

        return measured


class _Measured:
    def __init__(self, store: Store, steps: dict[str, Any]) -> None:
        self._store = store
        self.__dict__ |= steps

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
