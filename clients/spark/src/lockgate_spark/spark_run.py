"""One run of one query, as Spark shows it in a classic session and over Connect."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from lockgate_spark.errors import Stopped


class SparkRun(Protocol):
    """The protocol of one run of one query, for classic sessions and for Spark Connect."""

    @property
    def query_id(self) -> str:
        """Spark's id of the query, which is in the checkpoint."""

    @property
    def run_id(self) -> str:
        """Spark's id of this run."""

    @property
    def name(self) -> str | None:
        """The query's name, if it was given one."""

    @property
    def available_now(self) -> bool:
        """Whether the trigger is AvailableNow: the run reads only what exists at its start."""

    @property
    def interval_s(self) -> float:
        """The time (s) between two triggers; 0 if batches follow each other at once."""

    @property
    def in_group(self) -> bool:
        """Whether `align` has put the query's sources into a group."""

    def is_active(self) -> bool:
        """Return whether the run is active. This is false once `query.stop()` was called."""

    def check_active(self) -> None:
        """Raise `Stopped` if `query.stop()` was called. Call it on the query's own thread."""

    def ends_within(self, seconds: float) -> bool:
        """Wait for the end of the run, for at most `seconds`, and return whether the run has ended.
        Do not call this method on the query's own thread.
        """

    def failed(self) -> bool:
        """Return whether the run has ended with an error."""


@contextmanager
def stoppable(run: SparkRun) -> Iterator[None]:
    """In the `with` block, raise `Stopped` in place of any error that follows `query.stop()`."""
    try:
        yield
    except Exception:
        if run.is_active():
            raise
        raise Stopped() from None
