"""The errors that all clients share.

If the coordinator is unreachable, no error is raised at first, and the reader waits
(`group.outage`).
"""

from lockgate.errors import LockgateError
from lockgate.printable import printable


class AlignmentError(LockgateError):
    """Base class of the clients' errors.

    Control characters in the message are escaped, because it may quote a server or another query.
    """

    def __str__(self) -> str:
        return printable(super().__str__())


class ConfigurationError(AlignmentError, ValueError):
    """Raised if a setting is invalid or cannot be used here. The message names it."""


class CoordinatorRefused(AlignmentError):
    """Raised if the coordinator refuses this reader and retrying would not help."""


class AccessDenied(CoordinatorRefused):
    """Raised if the token is rejected, or if the role or groups of the token do not suffice."""


class CoordinatorUnavailable(AlignmentError):
    """Raised with `on_outage="fail"` if the coordinator was unreachable for `hold_for`."""


class KafkaFailed(AlignmentError):
    """Raised if Kafka's client fails. The cause is the client's own error.

    Examples are brokers that do not answer, a missing topic, and denied access.
    """


class Fenced(AlignmentError):
    """Raised if another run of this reader took over with a newer epoch. This run must stop."""
