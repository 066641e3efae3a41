"""Errors that only the Spark client raises, besides those of `lockgate_http.errors`."""

from lockgate_http.errors import AlignmentError


class UnsupportedQuery(AlignmentError):
    """Raised if a DataFrame, session, Spark version or mode of execution cannot be aligned."""


class WaitedTooLong(AlignmentError):
    """Raised if a run under `Trigger.AvailableNow` was blocked for longer than `max_wait`."""


class Stopped(Exception):
    """Raised if `query.stop()` was called while lockgate waited in a call from Spark. Spark
    recognises a stop by py4j's text for an InterruptedException, so this error has the same text.
    That of py4j's own error contains a Java stack trace, which is too long for Spark's regular
    expression (`StreamExecution.PROXY_ERROR`).
    """

    def __init__(self) -> None:
        super().__init__(
            "the query was stopped while its batch waited. For Spark, which finds it by these words:\n"
            "py4j.protocol.Py4JJavaError: An error occurred while calling z:java.lang.Thread.sleep.\n"
            ": java.lang.InterruptedException"
        )
