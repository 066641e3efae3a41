"""The status of a query over Connect, and the plan of a batch in foreachBatch, as the server has
them.
"""

from typing import Any, cast

from lockgate_spark.connect.asking import ask
from lockgate_spark.telemetry.batch_slice import BatchSlice
from lockgate_spark.telemetry.json_views import from_json
from lockgate_spark.telemetry.view import BatchAlignment


def view_of(batch: Any) -> BatchAlignment | None:
    """Return the plan of `batch` from the server, as the public `alignment_of` does."""
    return cast(BatchAlignment | None, from_json(BatchAlignment, ask(batch, "view")))


def slice_of(batch: Any) -> BatchSlice | None:
    """Return the windows of `batch` from the server, as the public `slice_of` does."""
    return cast(BatchSlice | None, from_json(BatchSlice, ask(batch, "slice")))


def status_of(query: Any) -> Any:
    """Return the status of a Connect query from the server, as JSON fields."""
    return ask(query._session.range(1), "status", query_id=str(query.id))
