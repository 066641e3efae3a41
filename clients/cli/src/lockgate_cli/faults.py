"""The errors of the operator's commands. The text of each is one line with a remedy."""

from lockgate_http.calls.answers import NotRegistered
from lockgate_http.errors import AlignmentError


class Fault(AlignmentError):
    """Raised if a command fails. The text is one line and contains no secret."""


class NotFound(Fault, NotRegistered):
    """Raised for an unknown group, source or reader. `kind` is the problem type, such as
    `unknown-group`.
    """

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text)
        self.kind = kind
