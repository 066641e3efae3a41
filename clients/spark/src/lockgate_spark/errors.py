"""The errors of the Spark client.

    lockgate.errors.LockgateError
    └── AlignmentError
        ├── ConfigurationError       a value of Alignment, Coordinator or a Spark option cannot work
        │                            (also a ValueError)
        ├── UnsupportedQuery         this DataFrame, session, Spark version or mode of execution
        │                            cannot be aligned
        ├── CoordinatorRefused       the coordinator refused, and would again: a busy reader,
        │   │                        a wrong URL
        │   └── AccessDenied         the token, its role or its groups do not allow this
        ├── CoordinatorUnavailable   the coordinator could not be reached for longer than
        │                            on_outage="fail" allows
        ├── KafkaFailed              the brokers, or what they refuse: they do not answer, a topic
        │                            is missing, access is denied
        ├── Fenced                   another run of the same reader took over; this one must stop
        └── HeldTooLong              the query was paused for longer than max_hold

An unreachable coordinator alone is no error: the query holds (see `outage`).
"""

from lockgate.errors import LockgateError


class AlignmentError(LockgateError):
    """Base of the Spark client's errors."""


class ConfigurationError(AlignmentError, ValueError):
    """A value of the configuration cannot work; the text names it, where it stands and what is
    expected.
    """


class UnsupportedQuery(AlignmentError):
    """Alignment cannot be put on this DataFrame, session, Spark version or mode of execution; the
    text says what can be done.
    """


class CoordinatorRefused(AlignmentError):
    """The coordinator refused this reader, and trying again would not help."""


class AccessDenied(CoordinatorRefused):
    """The coordinator does not accept the token, or the token's role or groups do not allow
    this.
    """


class CoordinatorUnavailable(AlignmentError):
    """The coordinator could not be reached for `hold_for`, and `on_outage` is "fail"."""


class KafkaFailed(AlignmentError):
    """Kafka's client failed: the brokers do not answer, a topic is missing, access is denied. The
    cause is the client's own error.
    """


class Fenced(AlignmentError):
    """A newer epoch of this reader exists: another run of the query took over."""


class HeldTooLong(AlignmentError):
    """The query was paused for longer than `max_hold`."""


class Stopped(Exception):
    """`query.stop()` was called, while a batch waited at a gate.

    Spark then does not commit the batch, and ends the query without an error. It recognises a stop
    by py4j's words for an InterruptedException, which this error's text repeats. py4j's own error
    will not do, since its text has a Java stack: over so long a text Spark's regular expression
    (`StreamExecution.PROXY_ERROR`) overflows the stack.
    """
