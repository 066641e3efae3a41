"""What goes wrong between an operator and the service: one line each, which says where, what, and
what to do.
"""


class Fault(Exception):
    """A command cannot be done. The text is one line, without a secret in it."""


class Unreachable(Fault):
    """Nobody answers, or not now: it may pass."""


class NotFound(Fault):
    """There is no such group, source or reader. `kind` is the problem's type without its prefix."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text)
        self.kind = kind
