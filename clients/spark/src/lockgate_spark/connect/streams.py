"""The requests of a Connect client. They align streams, and ask for the plan of a batch or the
status of a query.

To align a stream, its DataFrame gets a hint with the alignment as options. A token travels in the
session's conf instead, because Spark's UI shows plans with their hints.
"""

import json
import secrets
from collections.abc import Sequence
from typing import Any, cast

from lockgate_spark.conf import TOKEN_NAME, TOKENS, as_options
from lockgate_spark.config import Alignment
from lockgate_spark.connect.asking import HINT, ask, translated
from lockgate_spark.telemetry.batch_slice import BatchSlice
from lockgate_spark.telemetry.json_views import from_json
from lockgate_spark.telemetry.view import BatchAlignment


def align_all(dfs: Sequence[Any], alignment: Alignment) -> list[Any]:
    """Return aligned copies of the streaming DataFrames `dfs` of a Connect session. This implements
    the public `align_all`.

    The server checks the copies at once, so that errors are raised here and not when the query
    starts. Raises the errors that the server reports, and `UnsupportedQuery` if the server has no
    extension.
    """
    ask(dfs[0].sparkSession.range(1), "hello")
    options = json.dumps(_options(dfs[0].sparkSession.conf, alignment))
    aligned = [df.hint(HINT, "align", options) for df in dfs]
    with translated():
        for df in aligned:
            _ = df.isStreaming
    return aligned


def view_of(batch: Any) -> BatchAlignment | None:
    """Return the view of the plan that produced `batch`, from the server; None if the query is not
    aligned, or if Spark replays the batch from the checkpoint. This implements the public
    `alignment_of`.
    """
    return cast(BatchAlignment | None, from_json(BatchAlignment, ask(batch, "view")))


def slice_of(batch: Any) -> BatchSlice | None:
    """Return the windows of `batch`, from the server; None if they are not known. This implements
    the public `slice_of`.
    """
    return cast(BatchSlice | None, from_json(BatchSlice, ask(batch, "slice")))


def status_of(query: Any) -> Any:
    """Return the status of a query from the server, as parsed JSON."""
    return ask(query._session.range(1), "status", query_id=str(query.id))


def late_rows_path(query: Any) -> str | None:
    """Return the path at which a query keeps its late rows on the server; None if it keeps none."""
    return cast(str | None, ask(query._session.range(1), "late_rows", query_id=str(query.id)))


def _options(conf: Any, alignment: Alignment) -> dict[str, str]:
    token = None if alignment.coordinator is None else alignment.coordinator.token
    options = as_options(alignment)
    return options if token is None else {**options, TOKEN_NAME: _name_of(token, conf)}


def _name_of(token: str, conf: Any) -> str:
    """Return the name under which `token` is in the session's conf. If it is not there, add it
    under a new name.
    """
    known = (key for key, value in conf.getAll.items() if key.startswith(TOKENS) and value == token)
    name = next(known, TOKENS + secrets.token_hex(4)).removeprefix(TOKENS)
    conf.set(TOKENS + name, token)
    return name
