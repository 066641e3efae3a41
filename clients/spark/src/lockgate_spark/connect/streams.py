"""`align` in a session of Connect: a hint with the alignment, as options, on the DataFrame. A token
goes by the session's conf, for plans show in Spark's UI.
"""

import json
import secrets
from collections.abc import Sequence
from typing import Any

from lockgate_spark.conf import TOKEN_NAME, TOKENS, as_options
from lockgate_spark.config import Alignment
from lockgate_spark.connect.asking import HINT, ask, translated


def align_all(dfs: Sequence[Any], alignment: Alignment) -> list[Any]:
    """Align streams of a Connect session, as the public `align_all` does.

    The server checks them at once, so that its errors are raised here rather than when the query
    starts.
    """
    ask(dfs[0].sparkSession.range(1), "hello")
    options = json.dumps(_options(dfs[0].sparkSession.conf, alignment))
    aligned = [df.hint(HINT, "align", options) for df in dfs]
    with translated():
        for df in aligned:
            _ = df.isStreaming
    return aligned


def _options(conf: Any, alignment: Alignment) -> dict[str, str]:
    token = None if alignment.coordinator is None else alignment.coordinator.token
    options = as_options(alignment)
    return options if token is None else {**options, TOKEN_NAME: _name_of(token, conf)}


def _name_of(token: str, conf: Any) -> str:
    """Return the name under which the session's conf has the token."""
    known = (key for key, value in conf.getAll.items() if key.startswith(TOKENS) and value == token)
    name = next(known, TOKENS + secrets.token_hex(4)).removeprefix(TOKENS)
    conf.set(TOKENS + name, token)
    return name
