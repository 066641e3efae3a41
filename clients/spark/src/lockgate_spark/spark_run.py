"""One run of one query, as Spark shows it in a classic session and over Connect."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from lockgate.plan.windows import Zone
from lockgate_spark.errors import Stopped
from lockgate_spark.event_times import QueryWatermark


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


class Memory(Protocol):
    """Stores the last two versions of a text over restarts, so that one of them is complete."""

    def read(self) -> list[str]:
        """Return the kept texts. One may be incomplete if the process ended during its write."""

    def write(self, number: int, text: str) -> None:
        """Write a text in place of the older of the two. `number` must rise by one each time."""


@dataclass(frozen=True, slots=True)
class StateOperator:
    """A stateful operator of a batch, as in Spark's progress. `dropped` counts the rows below the
    watermark, after a partial aggregation if there is one; if several actions have computed a
    partition (`repeated`), each time.
    """

    name: str
    dropped: int
    repeated: bool = False


class Checkpointed(SparkRun, Protocol):
    """A run in a classic session, with its plan and its checkpoint. `jvm.query` implements it."""

    def logged_offsets(self, source: int) -> dict[str, int] | None:
        """Return the offsets at which the checkpoint's last batch ends for this source, if any."""

    def start_offsets(self, source: int) -> dict[str, int] | None:
        """Return the offsets at which the source's next batch starts; None if it was never read."""

    def logged_watermark(self) -> int | None:
        """Return Spark's own watermark (ms) in the checkpoint; None if it has none."""

    def watermarks(self) -> list[QueryWatermark]: ...

    def takes_highest(self) -> bool:
        """Return whether Spark uses the highest of several watermarks (the policy `max`)."""

    def memory(self, name: str = "") -> Memory:
        """Return the storage of texts in the checkpoint's files whose names begin with `name`."""

    def zone(self, name: str | None) -> Zone:
        """Return the time zone called `name` as Spark defines it; the session's for None. Raises
        `ConfigurationError` for an unknown name.
        """

    def operators(self) -> tuple[object, Iterable[StateOperator]] | None:
        """Return a key that identifies Spark's last progress report, and the report's stateful
        operators; None before the first report.
        """


@contextmanager
def stoppable(run: SparkRun) -> Iterator[None]:
    """Raise `Stopped` in place of any error that follows `query.stop()`."""
    try:
        yield
    except Exception:
        if run.is_active():
            raise
        raise Stopped() from None
