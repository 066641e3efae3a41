"""A run that `query.stop()` may end amid its batch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from lockgate_spark.errors import Stopped


class ActiveRun(Protocol):
    """The run of a query."""

    def is_active(self) -> bool:
        """Return false once the query was stopped."""


@contextmanager
def stoppable(run: ActiveRun) -> Iterator[None]:
    """Raise `Stopped` instead of an error after `query.stop()`, which cancels Spark's jobs."""
    try:
        yield
    except Exception:
        if run.is_active():
            raise
        raise Stopped() from None
