"""The facts of a report as a JSON-able dict: what a reader's query knows beside its watermarks.

Facts inform people. No rule of a group reads them, so a fact that is absent costs a figure and
nothing else. All of them are optional; null counts as absent.

They have no counterpart in Flink, whose source tasks have metrics of their own in the same cluster.
Here the coordinator is the one place that sees all queries of a group. Used by `codec` and by the
coordinator's inspection.
"""

from lockgate.wire.events import ReaderFacts
from lockgate.wire.fields import Fields, Json


def facts_to_json(facts: ReaderFacts) -> Json:
    """Every fact; None where one is absent."""
    return {
        "late_rows": facts.late_rows,
        "rows_saved": facts.rows_saved,
        "retained_until": facts.retained_until,
        "retention_split": facts.retention_split,
        "producer_lag_ms": facts.producer_lag_ms,
        "event_time_rate": facts.event_time_rate,
    }


def facts_of(taken: Fields | None) -> ReaderFacts | None:
    """Return the facts of a report's field `facts`, whose faults are noted there."""
    if taken is None:
        return None
    return ReaderFacts(
        late_rows=taken.integer_or_none("late_rows", low=0),
        rows_saved=taken.integer_or_none("rows_saved", low=0),
        retained_until=taken.integer_or_none("retained_until", low=0),
        retention_split=taken.name_or_none("retention_split"),
        producer_lag_ms=taken.integer_or_none("producer_lag_ms", low=0),
        event_time_rate=taken.integer_or_none("event_time_rate", low=0),
    )
