"""Commands to a group, and their outcomes, as values. `turn` carries them out.

A command with an `act` takes effect once: a repetition with the same `act` gets the first answer
(`group.Act`). `by` is the name of the operator who sent the command, for the journal.
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
    """Apply leases and waits that have ended, without ending an outage. If a revision was
    `announced` that the store has lost, the group gets a revision above it.
    """

    announced: int = BEFORE_ALL_REVISIONS


@dataclass(frozen=True, slots=True)
class Register:
    """Open a new epoch of a reader, and create an unknown group with the reader's configuration."""

    source: str
    event: ReaderRegistrationEvent
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Reports:
    """Take reports, each with its source's name. A turn takes neighbouring ones together."""

    items: Sequence[tuple[str, ReportedWatermarkEvent]]


@dataclass(frozen=True, slots=True)
class Progress:
    """Take the progress of a task. If `event` is a part of a request, `named` are the splits of all
    of it, so that all of them are refused or none.
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
    """Record which splits are on their way to the readers of a source, by subtask."""

    source: str
    arriving: Mapping[int, Arriving | None]


@dataclass(frozen=True, slots=True)
class Leave:
    source: str
    subtask: int
    epoch: int
    act: str = ""


@dataclass(frozen=True, slots=True)
class Evict:
    source: str
    subtask: int
    act: str = ""
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Expire:
    expiry: Expiry


@dataclass(frozen=True, slots=True)
class RemoveLost:
    """Remove those of these readers that are still lost, because others have their splits."""

    readers: Sequence[ReaderKey]


@dataclass(frozen=True, slots=True)
class Versions:
    """Configuration versions in a condition. With `any` an existing group always matches."""

    named: frozenset[int] = frozenset()
    any: bool = False

    def have(self, group: Group | None) -> bool:
        """Return whether the group exists and its version is one of these."""
        return group is not None and (self.any or group.config_version in self.named)


@dataclass(frozen=True, slots=True)
class Configure:
    """Create the group, or replace its configuration. This is refused if the group's version is not
    one of `only`, or is one of `never`.
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
    """The command was carried out, now or in an earlier turn (`repeated`)."""

    removed: tuple[ReaderKey, ...] = ()
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    epoch: int


@dataclass(frozen=True, slots=True)
class Configured:
    """The group has this version of its configuration. `created` is true if the group is new, and
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
