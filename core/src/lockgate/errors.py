"""The exceptions of lockgate's core. A group's rules raise `Refused` and its subclasses."""

from collections.abc import Sequence


class LockgateError(Exception):
    """The base class of every exception that lockgate raises on purpose."""


class InvalidValue(LockgateError, ValueError):
    """A value breaks a rule. `field` names the value, and `expectation` states the rule."""

    def __init__(self, field: str, expectation: str) -> None:
        super().__init__(f"{field}: {expectation}")
        self.field = field
        self.expectation = expectation


class UnreadableBytes(InvalidValue):
    """Serialised state ends too early or breaks its format; `field` names the unreadable part."""


class UnknownName(LockgateError, LookupError):
    """No `kind`, such as "split", has this `name`. `expectation` says which names there are."""

    def __init__(self, kind: str, name: object, expectation: str) -> None:
        super().__init__(f"{kind} {name!r} is unknown: {expectation}")


class WrongState(LockgateError, RuntimeError):
    """The call is not allowed now. The message says which call has to come first."""


class CannotPause(LockgateError):
    """A reader was asked to pause individual splits, but it does not support that."""


class InvalidMessage(LockgateError, ValueError):
    """A message breaks the protocol. `faults` are (path, text); `more` counts those left out."""

    def __init__(self, faults: Sequence[tuple[str, str]], more: int = 0) -> None:
        told = "; ".join(f"{field}: {detail}" for field, detail in faults)
        super().__init__(f"{told}; and {more:,} more faults" if more else told)
        self.faults = tuple(faults)
        self.more = more


class Refused(LockgateError):
    """A group's rules refuse a command. Nothing was changed."""


class UnknownGroup(Refused):
    """The group does not exist. The next registration of a reader creates it."""

    def __init__(self, group: str) -> None:
        super().__init__(f"there is no group {group!r}: create it, or register a reader, which creates it")


class UnknownSource(Refused):
    """No reader of this source is in the group."""

    def __init__(self, group: str, source: str) -> None:
        super().__init__(f"group {group!r} has no reader of source {source!r}: register one")


class UnknownReader(Refused):
    """The source has readers in the group, but not this one."""

    def __init__(self, group: str, source: str, subtask: int) -> None:
        super().__init__(f"reader {subtask} of source {source!r} is not in group {group!r}: register it")


class StaleEpoch(Refused):
    """The command's epoch is not the newest one of its reader, which is `current_epoch`."""

    def __init__(self, source: str, subtask: int, epoch: int, current_epoch: int) -> None:
        super().__init__(
            f"reader {subtask} of source {source!r}: epoch {epoch} is not the newest, which is {current_epoch}; "
            "only the latest registration may report"
        )
        self.current_epoch = current_epoch


class ReaderBusy(Refused):
    """The reader belongs to another `owner`, whose lease has not ended."""

    def __init__(self, source: str, subtask: int, owner: str) -> None:
        super().__init__(
            f"reader {subtask} of source {source!r} belongs to {owner!r}, whose lease is still valid: use another "
            "source name, wait until the lease ends, or register with takeover"
        )
        self.owner = owner


class LimitReached(Refused):
    """A command would exceed a limit. `most` is the maximum number of the things named `limit`."""

    def __init__(self, limit: str, most: int, where: str, remedy: str) -> None:
        super().__init__(f"{where} may have at most {most:,} {limit}: {remedy}")
        self.limit = limit
        self.most = most
