"""The client's side of Spark Connect. A client has no JVM and no py4j, so it sends each request to
the server's extension as a hint on a DataFrame. The public functions of `lockgate_spark` use this
package, and `host` answers the requests.

To align a stream, its DataFrame gets a hint with the alignment as options. A token travels in the
session's conf instead, because Spark's UI shows plans with their hints.
"""

import secrets
from collections.abc import Sequence
from typing import Any, cast

from lockgate_spark.conf import TOKEN_NAME, TOKENS, as_options
from lockgate_spark.config import Alignment
from lockgate_spark.connect.asking import ask, hinted, translated
from lockgate_spark.telemetry.batch_slice import BatchSlice
from lockgate_spark.telemetry.json_views import from_json
from lockgate_spark.telemetry.view import BatchAlignment


def align_all(dfs: Sequence[Any], alignment: Alignment) -> list[Any]:
    """Return aligned copies of the streaming DataFrames `dfs` of a Connect session. The server
    checks the copies at once, so that errors are raised here and not when the query starts.

    Raises the errors that the server reports, and `UnsupportedQuery` if the server does not have
    lockgate's extension.
    """
    ask(dfs[0].sparkSession.range(1), "hello")
    options, conf = as_options(alignment), dfs[0].sparkSession.conf
    if alignment.coordinator is not None and alignment.coordinator.token is not None:
        options[TOKEN_NAME] = _name_of(alignment.coordinator.token, conf)
    aligned = [hinted(df, "align", **options) for df in dfs]
    with translated():
        for df in aligned:
            _ = df.isStreaming
    return aligned


def view_of(batch: Any) -> BatchAlignment | None:
    """Return what the public `alignment_of` returns for an aligned query, from the server."""
    return cast(BatchAlignment | None, from_json(BatchAlignment, ask(batch, "view")))


def slice_of(batch: Any) -> BatchSlice | None:
    """Return what the public `slice_of` returns, from the server."""
    return cast(BatchSlice | None, from_json(BatchSlice, ask(batch, "slice")))


def status_of(query: Any) -> Any:
    """Return the status of a query from the server, as parsed JSON."""
    return ask(query._session.range(1), "status", query_id=str(query.id))


def late_rows_path(query: Any) -> str | None:
    """Return the server's path of the table of a query's late rows; None if there is no table."""
    return cast(str | None, ask(query._session.range(1), "late_rows", query_id=str(query.id)))


def _name_of(token: str, conf: Any) -> str:
    """Return the name under which `token` is in the session's conf. If it is not there, add it
    under a new name.
    """
    known = (key for key, value in conf.getAll.items() if key.startswith(TOKENS) and value == token)
    name = next(known, TOKENS + secrets.token_hex(4)).removeprefix(TOKENS)
    conf.set(TOKENS + name, token)
    return name
