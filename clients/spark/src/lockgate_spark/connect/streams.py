"""`align` in a session of Connect: a hint with the alignment, as options, on the DataFrame."""

import json
from collections.abc import Sequence
from typing import Any

from lockgate_spark.conf import as_options
from lockgate_spark.config import Alignment
from lockgate_spark.connect.asking import HINT, ask, is_connect, translated
from lockgate_spark.errors import UnsupportedQuery


def align_all(dfs: Sequence[Any], alignment: Alignment) -> list[Any]:
    """As the public function of this name. The server is asked at once, so that its errors show
    here and not when the query starts.
    """
    for df in dfs:
        if not is_connect(df):
            raise UnsupportedQuery(
                f"expected a streaming DataFrame, not {type(df).__name__}; several go to align_all([…])"
            )
    ask(dfs[0].sparkSession.range(1), "hello")
    options = json.dumps(as_options(alignment))
    aligned = [df.hint(HINT, "align", options) for df in dfs]
    with translated():
        for df in aligned:
            _ = df.isStreaming
    return aligned
