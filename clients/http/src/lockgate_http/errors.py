"""The errors that all clients share.

    lockgate.errors.LockgateError
    └── AlignmentError
        ├── ConfigurationError       a setting is invalid, or cannot work here (also a ValueError)
        ├── CoordinatorRefused       the coordinator refused, and would again: a busy reader,
        │   │                        a wrong URL
        │   └── AccessDenied         the token, its role or its groups do not allow this
        ├── CoordinatorUnavailable   the coordinator could not be reached for longer than
        │                            on_outage="fail" allows
        ├── KafkaFailed              the brokers, or what they refuse: they do not answer, a topic
        │                            is missing, access is denied
        └── Fenced                   another run of the same reader took over; this one must stop

An unreachable coordinator alone is no error: the reader holds (see `group.outage`).
"""

from lockgate.errors import LockgateError
from lockgate.printable import printable


class AlignmentError(LockgateError):
    """Base class of the clients' errors. Control characters are escaped in the message, because it
    may quote a server or another query.
    """

    def __str__(self) -> str:
        return printable(super().__str__())


class ConfigurationError(AlignmentError, ValueError):
    """A setting is invalid, or cannot work here. The message names the setting, where it is set,
    and what is expected.
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
    """Kafka's client failed: the brokers do not answer, a topic is missing, or access is denied.
    The cause is the client's own error.
    """


class Fenced(AlignmentError):
    """Another run of this reader took over with a newer epoch, so this one has to stop."""
