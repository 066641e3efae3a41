"""The client's side of Spark Connect. A client has no JVM and no py4j, so it sends each request to
the server's extension as a hint on a DataFrame. The extension (`AnswerHints.java`) replaces the
DataFrame with the answer of `host`; servers without it ignore the hint.

To align a stream, its DataFrame gets a hint with the alignment as options. A token travels in the
session's conf instead, because Spark's UI shows plans with their hints.
"""

import json
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from pyspark.errors import PySparkException

import lockgate_http.errors
import lockgate_spark.errors
from lockgate.errors import LockgateError
from lockgate.wire.codec import from_json
from lockgate_spark.conf import TOKEN_NAME, TOKENS, as_options
from lockgate_spark.config import Alignment
from lockgate_spark.errors import UnsupportedQuery

HINT = "lockgate"
ANSWER = "lockgate"
"""The only key of an answer's JSON."""

LACKS = (
    "this Spark Connect server has no lockgate extension: put lockgate-spark-server-VERSION.jar on it, by spark.jars"
    " or --packages. The guide says more under Spark Connect"
)
_ERROR = re.compile(r"\b([A-Z]\w+): (.*)", re.DOTALL)
_Made = TypeVar("_Made")


def align_all(dfs: Sequence[Any], alignment: Alignment) -> list[Any]:
    """Return aligned copies of the streaming DataFrames `dfs` of a Connect session. The server
    checks the copies at once, so that errors are raised here and not when the query starts.

    Raises the errors of `ask`.
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


def ask_for(kind: type[_Made], df: Any, question: str) -> _Made | None:
    """Return what `ask` returns as an object of the dataclass `kind`, or None."""
    answer = ask(df, question)
    return None if answer is None else from_json(kind, answer)


def hinted(df: Any, question: str, **given: object) -> Any:
    """Return `df` with a hint that asks `question`, with the arguments `given`."""
    return df.hint(HINT, question, json.dumps(given))


@contextmanager
def translated() -> Iterator[None]:
    """Translate Spark's errors: if the message of one in the `with` block contains an error of
    lockgate, such as `UnsupportedQuery`, raise that error instead.
    """
    try:
        yield
    except PySparkException as error:
        for found in _ERROR.finditer(str(error).partition("JVM stacktrace:")[0]):
            kind = getattr(lockgate_spark.errors, found[1], None) or getattr(lockgate_http.errors, found[1], None)
            if isinstance(kind, type) and issubclass(kind, LockgateError):
                raise kind(found[2].strip()) from None
        raise


def _name_of(token: str, conf: Any) -> str:
    """Return the name under which `token` is in the session's conf. If it is not there, add it
    under a new name.
    """
    known = (key for key, value in conf.getAll.items() if key.startswith(TOKENS) and value == token)
    name = next(known, TOKENS + secrets.token_hex(4)).removeprefix(TOKENS)
    conf.set(TOKENS + name, token)
    return name
