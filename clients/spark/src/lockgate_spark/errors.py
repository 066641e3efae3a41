"""Errors that only the Spark client has, and the one that stops a query for Spark. Errors shared
with other clients are in `lockgate_http.errors`.

    lockgate_http.errors.AlignmentError
    ├── UnsupportedQuery         this DataFrame, session, Spark version or mode of execution
    │                            cannot be aligned
    └── WaitedTooLong              the query was paused for longer than max_wait
"""

from lockgate_http.errors import AlignmentError


class UnsupportedQuery(AlignmentError):
    """Raised for a DataFrame, session, Spark version or mode of execution that cannot be aligned.

    The message says what to do instead.
    """


class WaitedTooLong(AlignmentError):
    """Raised if a query was blocked for longer than `max_wait`."""


class Stopped(Exception):
    """`query.stop()` was called, while a batch waited at a gate.

    Spark then does not commit the batch, and ends the query without an error. It recognises a stop
    by py4j's words for an InterruptedException, which this error's text repeats. py4j's own error
    will not do, since its text has a Java stack: over so long a text Spark's regular expression
    (`StreamExecution.PROXY_ERROR`) overflows the stack.
    """

    def __init__(self) -> None:
        super().__init__(
            "the query was stopped while its batch waited. For Spark, which finds it by these words:\n"
            "py4j.protocol.Py4JJavaError: An error occurred while calling z:java.lang.Thread.sleep.\n"
            ": java.lang.InterruptedException"
        )
