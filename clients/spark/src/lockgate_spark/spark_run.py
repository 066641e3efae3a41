"""One run of one query, as Spark shows it in a classic session and over Connect."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from lockgate_spark.errors import Stopped


class SparkRun(Protocol):
    """One run of one query, with Spark's ids of the query and of the run."""

    query_id: str
    run_id: str
    name: str | None
    available_now: bool  # the trigger is AvailableNow: the run reads only what exists at its start
    interval_s: float  # between two triggers; 0 if batches follow each other at once
    in_group: bool  # `align` has put the query's sources into a group

    def is_active(self) -> bool:
        """Return whether the run is active: false once `query.stop()` was called."""

    def check_active(self) -> None:
        """Raise `Stopped` if `query.stop()` was called. Call it on the query's own thread."""

    def ends_within(self, seconds: float) -> bool:
        """Wait at most `seconds` for the end of the run. Do not wait on the query's own thread."""

    def failed(self) -> bool: ...


@contextmanager
def stoppable(run: SparkRun) -> Iterator[None]:
    """Raise `Stopped` in place of any error that follows `query.stop()`."""
    try:
        yield
    except Exception:
        if run.is_active():
            raise
        raise Stopped() from None
