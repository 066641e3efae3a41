"""The public function `status`. It returns what an aligned query is doing and what it waits for, as
fields, as a sentence, and as a table for notebooks.
"""

import time
from dataclasses import dataclass
from enum import Enum
from typing import Any

from lockgate import watermark
from lockgate.wire.codec import from_json
from lockgate_spark import connect
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.gates.gate import Gate
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.running import running
from lockgate_spark.spark_lines import is_connect
from lockgate_spark.telemetry import card, waits
from lockgate_spark.telemetry.view import BatchAlignment, PartitionAlignment, is_unread
from lockgate_spark.telemetry.waits import Waits


class QueryState(str, Enum):
    """The state of a query with respect to alignment."""

    STARTING = "starting"
    READING = "reading"
    WAITING = "waiting"
    CAUGHT_UP = "caught up"  # nothing is left to read
    OBSERVING = "observing"
    GATED = "gated"
    NOT_ALIGNED = "not aligned"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class AlignmentStatus:
    """State of one query at one moment. `print` shows a sentence and a table; a notebook shows
    HTML.

    Attributes:
        query: The query's name, or its id if it has no name.
        state: What the query is doing.
        sentence: The state in words, with what the query waits for and why.
        waits_for: A partition, a whole window, readers of the group, the person who paused the
            query, or the coordinator. Empty if the query does not wait, or if the readers are not
            known.
        waits_since: Time (s since 1970) when the wait began; None if the query does not wait.
        max_drift: The allowed drift (ms); None until it is known.
        view: The query's latest plan; None before the first plan.

    """

    query: str
    state: QueryState
    sentence: str
    waits_for: str = ""
    waits_since: float | None = None
    max_drift: int | None = None
    view: BatchAlignment | None = None

    @property
    def partitions(self) -> tuple[PartitionAlignment, ...]:
        """The partitions of the latest plan; empty before the first plan."""
        return () if self.view is None else self.view.partitions

    def __str__(self) -> str:
        return card.text(self.query, self.sentence, self.view, self.max_drift)

    def _repr_html_(self) -> str:
        return card.html(self.query, self.sentence, self.view, self.max_drift)


def status(query: Any) -> AlignmentStatus:
    """Return what `query` is doing and what it waits for, without asking Kafka or the coordinator.

    Examples:
        >>> query = orders.writeStream.format("noop").queryName("orders").start()
        >>> found = lockgate_spark.status(query)
        >>> print(found.sentence)
        The query waits for partition orders-3 (for 12 s so far): …

    Args:
        query: The `StreamingQuery` that `writeStream…start()` returns.

    Raises:
        UnsupportedQuery: `query` is not a `StreamingQuery`.

    """
    if not all(hasattr(query, name) for name in ("id", "isActive", "name")):
        raise UnsupportedQuery(
            f"status(): expected the StreamingQuery that writeStream…start() returns, not {type(query).__name__}"
        )
    if is_connect(query):
        return from_json(AlignmentStatus, connect.ask(query._session.range(1), "status", query_id=str(query.id)))
    name, query_id = str(query.name or query.id), str(query.id)
    if not query.isActive:
        ended = running.of_query(AlignedRun, query_id, ended=True)
        left = "" if ended is None else ended.planner.left
        return AlignmentStatus(name, QueryState.ENDED, f"The query has ended. {left}".strip())
    if (aligned := running.of_query(AlignedRun, query_id)) is not None:
        return _of_run(name, aligned)
    if (gate := running.of_query(Gate, query_id)) is not None:
        said = "The gate lets each batch wait for the group; none is waiting now."
        gated = AlignmentStatus(name, QueryState.GATED, said, view=gate.view)
        return _waiting(name, gate.waits, None, gate.view) or gated
    said = "The query is not aligned, or Spark has not opened its sources yet."
    return AlignmentStatus(name, QueryState.NOT_ALIGNED, said)


def _of_run(name: str, run: AlignedRun) -> AlignmentStatus:
    view = run.held_view or run.view
    waiting = _waiting(name, run.planner.waits, run.max_drift, view)
    if waiting is not None:
        return waiting
    if view is None:
        if run.planner.looker.last is not None and run.membership is not None and run.membership.last is None:
            wait = waits.for_coordinator(None)
            return AlignmentStatus(name, QueryState.WAITING, waits.sentence("The query", wait, 0.0), wait.names)
        return AlignmentStatus(name, QueryState.STARTING, "The first plan is being made; it waits for Kafka's answers.")
    upto, paused = watermark.instant(view.target, "nothing yet", "the end of the data"), len(view.paused)
    if run.alignment.mode == "observe":
        state, said = QueryState.OBSERVING, "Spark reads what it would read without lockgate; alignment would "
        said += f"read up to {upto} and pause {paused} partitions."
    elif any(is_unread(each) for each in view.partitions):
        state = QueryState.READING
        said = f"The query reads up to {upto}; {paused} of {len(view.partitions)} partitions are paused."
    else:
        state, said = QueryState.CAUGHT_UP, "All partitions are read to their end."
    return AlignmentStatus(name, state, said, max_drift=run.max_drift, view=view)


def _waiting(name: str, of: Waits, max_drift: int | None, view: BatchAlignment | None) -> AlignmentStatus | None:
    if (present := of.present) is None:
        return None
    wait, lasted_s = present
    said = waits.sentence("The query", wait, lasted_s)
    return AlignmentStatus(name, QueryState.WAITING, said, wait.names, time.time() - lasted_s, max_drift, view)
