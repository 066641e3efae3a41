"""Commands to a group, and their outcomes, as values. `turn` carries them out.

A command with an `act` takes effect once: the group keeps the acts that a repetition would refuse
or undo (`group.Act`), and a repetition gets the answer of the first. `by` is the name of the
operator who sent the command, for the journal.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from lockgate.errors import Refused
from lockgate.group.expiry import Expiry
from lockgate.group.group import Group
from lockgate.group.reader import Arriving, ReaderKey
from lockgate.wire.events import GroupConfig, ProgressEvent, ReaderRegistrationEvent, ReportedWatermarkEvent

BEFORE_ALL_REVISIONS = -1


@dataclass(frozen=True, slots=True)
class Refresh:
    """Apply leases and waits that have ended, without ending an outage. If the store has lost
    `announced`, a revision that was announced, the group gets a revision above it.
    """

    announced: int = BEFORE_ALL_REVISIONS


@dataclass(frozen=True, slots=True)
class Register:
    """Open a new epoch of a reader. Creates an unknown group with the configuration that the reader
    presents, or with the defaults.
    """

    source: str
    event: ReaderRegistrationEvent
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Reports:
    """Take reports, each with its source's name. Neighbouring commands of this kind in a turn are
    taken together.
    """

    items: Sequence[tuple[str, ReportedWatermarkEvent]]


@dataclass(frozen=True, slots=True)
class Progress:
    """Take the progress of a task. If `event` is only a part of a request, `named` are the splits
    of the whole request, so that all of them are refused or none.
    """

    source: str
    event: ProgressEvent
    named: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Renew:
    """Renew the lease of a reader, as a report does."""

    source: str
    subtask: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Arrive:
    """Record which split is on its way to each of these readers of a source, by subtask."""

    source: str
    arriving: Mapping[int, Arriving | None]


@dataclass(frozen=True, slots=True)
class Leave:
    """Take a reader out of the group, by its own request."""

    source: str
    subtask: int
    epoch: int
    act: str = ""


@dataclass(frozen=True, slots=True)
class Evict:
    """Take a reader out of the group, by an operator's request."""

    source: str
    subtask: int
    act: str = ""
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Expire:
    """Remove the readers that have expired."""

    expiry: Expiry


@dataclass(frozen=True, slots=True)
class RemoveLost:
    """Remove those of these readers that are still lost, because others have taken over their
    splits.
    """

    readers: Sequence[ReaderKey]


@dataclass(frozen=True, slots=True)
class Versions:
    """Configuration versions, used in a condition. With `any` every version of an existing group
    matches.
    """

    named: frozenset[int] = frozenset()
    any: bool = False

    def have(self, group: Group | None) -> bool:
        """Return whether the group exists and its version is one of these."""
        return group is not None and (self.any or group.config_version in self.named)


@dataclass(frozen=True, slots=True)
class Configure:
    """Create the group, or replace its configuration. This is refused if the group's version is not
    one of `only`, or if it is one of `never`.
    """

    config: GroupConfig
    act: str = ""
    by: str | None = None
    only: Versions | None = None
    never: Versions | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """Pause a source until an operator resumes it. An earlier pause stays as it is."""

    source: str
    reason: str
    act: str = ""
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Resume:
    """Resume a source."""

    source: str
    act: str = ""
    by: str | None = None


Once = Configure | Leave | Evict | Pause | Resume
"""The commands that have an `act`."""

Command = Once | Refresh | Register | Reports | Progress | Renew | Arrive | Expire | RemoveLost


class PreconditionFailed(Exception):
    """A condition on the group's configuration does not hold. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class Done:
    """The command has been carried out, now or by an earlier turn (`repeated`). `removed` are the
    readers that it removed from the group.
    """

    removed: tuple[ReaderKey, ...] = ()
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """The reader has been registered with this epoch."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Configured:
    """The group has this version of its configuration. `created` is true if the group is new.
    `before` is the configuration that was replaced, if any.
    """

    version: int
    created: bool
    before: GroupConfig | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """The reports were taken, except those in `refusals`, by index."""

    refusals: Mapping[int, Refused] = field(default_factory=dict)


Outcome = Done | Opened | Configured | Taken | Refused | PreconditionFailed
