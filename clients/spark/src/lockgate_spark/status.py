"""`status`: what an aligned query does right now, and what it waits for. Programs get fields,
people a sentence, and notebooks a table.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from lockgate import watermark
from lockgate.plan.model import Limit
from lockgate_spark.duration import spoken
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.gates.gate import Gate
from lockgate_spark.group.outage import Coordination
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.running import running
from lockgate_spark.telemetry import card
from lockgate_spark.telemetry.view import BatchAlignment, SplitAlignment


class QueryState(str, Enum):
    """What a query does."""

    STARTING = "starting"
    READING = "reading"
    WAITING = "waiting"
    DONE = "done"  # nothing is left to read
    OBSERVING = "observing"
    GATED = "gated"
    NOT_ALIGNED = "not aligned"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class AlignmentStatus:
    """One query at one moment. `query`: its name, else its id. `sentence`: the same for a person.
    `waits_for`: a split, readers of the group, or the coordinator; empty where the query does not
    wait. `waits_since`: wall clock in seconds. `max_drift`: ms; None where not known yet. `view`:
    the plan that the query follows or waits with; None before the first.
    """

    query: str
    state: QueryState
    sentence: str
    waits_for: str = ""
    waits_since: float | None = None
    max_drift: int | None = None
    view: BatchAlignment | None = None

    @property
    def splits(self) -> tuple[SplitAlignment, ...]:
        """The splits of the view; none before the first plan."""
        return () if self.view is None else self.view.splits

    def __str__(self) -> str:
        return card.text(self.query, self.sentence, self._bars(), self.max_drift)

    def _repr_html_(self) -> str:
        return card.html(self.query, self.sentence, self._bars(), self.max_drift)

    def _bars(self) -> list[card.Bar]:
        return [] if self.view is None else card.bars(self.view)


def status(query: Any) -> AlignmentStatus:
    """What `query` does, a `StreamingQuery` as `start()` returns it. Asks neither Kafka nor the
    coordinator. Raises `UnsupportedQuery` for anything else.
    """
    if not all(hasattr(query, name) for name in ("id", "isActive", "name")):
        raise UnsupportedQuery(
            f"status(): expected the StreamingQuery that writeStream…start() returns, not {type(query).__name__}"
        )
    name, query_id = str(query.name or query.id), str(query.id)
    if not query.isActive:
        return AlignmentStatus(name, QueryState.ENDED, "The query has ended.")
    aligned = running.of_query(AlignedRun, query_id)
    if aligned is not None:
        return _of_run(name, aligned)
    gate = running.of_query(Gate, query_id)
    if gate is not None:
        return AlignmentStatus(name, QueryState.GATED, "Whole batches wait for the group.", view=gate.view)
    return AlignmentStatus(
        name, QueryState.NOT_ALIGNED, "The query is not aligned, or Spark has not opened its sources yet."
    )


def _of_run(name: str, run: AlignedRun) -> AlignmentStatus:
    held = run.held_view
    view = run.view if held is None else held
    if view is None:
        return AlignmentStatus(name, QueryState.STARTING, "The first plan is being made.")
    if run.alignment.observes:
        state, sentence = QueryState.OBSERVING, f"Spark reads as without lockgate; {_would(view)}"
    elif held is not None:
        since = run.held_since
        what, sentence = _wait(view, max(0.0, view.planned_at - since))
        return AlignmentStatus(name, QueryState.WAITING, sentence, what, since, run.max_drift, view)
    elif any(split.end > split.position or split.next_event_time is not None for split in view.splits):
        paused = f"{len(view.paused)} of {len(view.splits)} splits are paused"
        state, sentence = QueryState.READING, f"The query reads up to {watermark.iso(view.target)}; {paused}."
    else:
        state, sentence = QueryState.DONE, "All splits are read to their end."
    return AlignmentStatus(name, state, sentence, max_drift=run.max_drift, view=view)


def _would(view: BatchAlignment) -> str:
    return f"alignment would read up to {watermark.iso(view.target)} and pause {len(view.paused)} splits."


def _wait(view: BatchAlignment, seconds: float) -> tuple[str, str]:
    """What the query has waited for, for so many seconds, and the sentence."""
    lasts = f", for {spoken(round(seconds * 1000))} now" if seconds >= 1 else ""
    if view.coordinator is Coordination.HOLDING:
        return "the coordinator", f"The query waits for the coordinator, which cannot be reached{lasts}."
    if view.limit is Limit.GROUP:
        return view.holder, f"The query waits for its group{lasts}: {view.holder or 'no reader'} is the lowest."
    split = view.holder or "one of its splits"
    return view.holder, f"The query waits for {split}{lasts}: this split may still bring older records."
