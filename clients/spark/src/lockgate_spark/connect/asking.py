"""Asks the server's extension questions. A question is a hint on a DataFrame, and the extension
replaces the DataFrame with the answer. The extension is `AnswerHints.java`; servers without it
ignore the hint.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.errors import PySparkException

import lockgate_http.errors
import lockgate_spark.errors
from lockgate.errors import LockgateError
from lockgate_spark.errors import UnsupportedQuery

HINT = "lockgate"
ANSWER = "lockgate"
"""The only key of an answer's JSON."""

_ERROR = re.compile(r"\b([A-Z]\w+): (.*)", re.DOTALL)
LACKS = (
    "this Spark Connect server has no lockgate extension: put lockgate-spark-server-VERSION.jar on it, by spark.jars"
    " or --packages. The guide says more under Spark Connect"
)


def ask(df: Any, question: str, **given: object) -> Any:
    """Return the extension's answer to `question` about `df`, as parsed JSON. `given` are the
    arguments of the question.

    Raises the error that the extension reports, and `UnsupportedQuery` if the server has no
    extension.
    """
    with translated():
        rows = hinted(df, question, **given).limit(1).collect()
    text = rows[0][0] if rows and len(rows[0]) == 1 else None
    if not isinstance(text, str) or not text.startswith(f'{{"{ANSWER}": '):
        raise UnsupportedQuery(LACKS)
    return json.loads(text)[ANSWER]


def hinted(df: Any, question: str, **given: object) -> Any:
    """Return `df` with a hint that asks `question`. The server's extension replaces the DataFrame
    with the answer. `given` are the arguments of the question.
    """
    return df.hint(HINT, question, json.dumps(given))


@contextmanager
def translated() -> Iterator[None]:
    """Return a context manager that translates Spark's errors. If the message of a Spark error in
    the `with` block contains an error of lockgate, such as `UnsupportedQuery`, that error is raised
    instead. Other errors propagate.
    """
    try:
        yield
    except PySparkException as error:
        own = _own(str(error))
        if own is None:
            raise
        raise own from None


def _own(text: str) -> LockgateError | None:
    for found in _ERROR.finditer(text.partition("JVM stacktrace:")[0]):
        kind = getattr(lockgate_spark.errors, found[1], None) or getattr(lockgate_http.errors, found[1], None)
        if isinstance(kind, type) and issubclass(kind, LockgateError):
            return kind(found[2].strip())
    return None
