"""Commands to a group, and their outcomes, as values. `turn` carries them out.

An `act` is an id that all repetitions of a command share. A command with an `act` takes effect
once, and each repetition gets the answer that the first command got (`group.Act`). `by` is the name
of the operator who sent the command, for the journal.
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
    """Apply ended leases and long waits. Unlike a reader's command, this does not end an outage.

    `announced` is the last announced revision. If the store has lost it, the group gets a higher
    one.
    """

    announced: int = BEFORE_ALL_REVISIONS


@dataclass(frozen=True, slots=True)
class Register:
    """Open a new epoch of a reader, and create the group if it does not exist. A new group has the
    configuration that the reader sends, or else the default one.
    """

    source: str
    event: ReaderRegistrationEvent
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Reports:
    """Process reports, each paired with its source. A turn merges consecutive `Reports`."""

    items: Sequence[tuple[str, ReportedWatermarkEvent]]


@dataclass(frozen=True, slots=True)
class Progress:
    """Process the progress that a task has reported.

    If a request is divided into several commands, `named` lists the splits of all of them. The
    limit on splits then applies to the whole request.
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
    """Record the slowest split on its way to each reader of a source (`Reader.arriving`).
    `arriving` maps subtasks to these splits, or to None if no split is on its way.
    """

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
    """Remove those of `readers` that are still lost. Other readers have taken over their splits."""

    readers: Sequence[ReaderKey]


@dataclass(frozen=True, slots=True)
class Versions:
    """Configuration versions in `If-Match` or `If-None-Match`. If `any` is true, all versions."""

    named: frozenset[int] = frozenset()
    any: bool = False

    def have(self, group: Group | None) -> bool:
        """Return whether the group exists and its configuration has one of these versions."""
        return group is not None and (self.any or group.config_version in self.named)


@dataclass(frozen=True, slots=True)
class Configure:
    """Create the group, or replace its configuration.

    `only` and `never` are conditions like `If-Match` and `If-None-Match`; None sets no condition.
    The command fails with `PreconditionFailed` if the configuration's version is not one of `only`,
    or is one of `never`. If the group does not exist, `only` fails and `never` does not.
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
    """The command took effect, in this turn or, if it is `repeated`, in an earlier one. `removed`
    lists the readers that the command has removed in this turn.
    """

    removed: tuple[ReaderKey, ...] = ()
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    epoch: int


@dataclass(frozen=True, slots=True)
class Configured:
    """The group's configuration now has this `version`. `created` is true if the group is new.

    `before` is the configuration that was replaced, or None.
    """

    version: int
    created: bool
    before: GroupConfig | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """The reports were accepted, except those whose indexes are in `refusals`."""

    refusals: Mapping[int, Refused] = field(default_factory=dict)


Outcome = Done | Opened | Configured | Taken | Refused | PreconditionFailed
