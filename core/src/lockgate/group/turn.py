"""One turn of a group: carry out commands, end leases and waits, and announce the result.

    group as loaded, commands, now  →  group before and after, event, each command's outcome

This is the only entry point to the rules of this package, and it is pure. The service loads a
group, takes a turn, and stores the resulting group. If another process has stored the group in the
meantime, the service reloads the group and repeats the turn.

A turn has three steps:

1. The times of the group are moved by the jumps of the store's clock (`clock_jumps`).
2. The commands are carried out in order. A refused command does not change the group, and
   consecutive `Reports` are applied together.
3. Expired leases and overlong waits are applied, and the ceiling is computed (`alignment`). So each
   answer takes its command into account.

Flink's `SourceCoordinator` does the same in two callbacks, `handleReportedWatermark` and
`announceCombinedWatermark`; its traces are replayed against `turn`
(docs/internals/flink-parity.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

from lockgate.errors import Refused, UnknownGroup
from lockgate.group import source_pauses
from lockgate.group.alignment import evaluate
from lockgate.group.clock_jumps import after_jumps
from lockgate.group.commands import (
    Arrive,
    Command,
    Configure,
    Configured,
    Done,
    Evict,
    Expire,
    Leave,
    Once,
    Opened,
    Outcome,
    Pause,
    PreconditionFailed,
    Progress,
    Refresh,
    Register,
    RemoveLost,
    Renew,
    Reports,
    Resume,
    Taken,
)
from lockgate.group.expiry import expired_readers
from lockgate.group.group import Act, Group, configured, create, not_below
from lockgate.group.leases import after_silence
from lockgate.group.limits import GroupLimits
from lockgate.group.now import Now
from lockgate.group.reader import ReaderKey
from lockgate.group.registering import evict, leave, register, without_readers
from lockgate.group.reporting import arrive, progress, renew, report_all
from lockgate.wire.events import GroupConfig, SourcePause, WatermarkAlignmentEvent

_NONE_REFUSED = Taken()
_DONE = Done()


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the group `name`. If there is no group, `after` and `announced` are None."""

    name: str
    now: Now
    commands: Sequence[Command]
    outcomes: Sequence[Outcome]
    before: Group | None
    after: Group | None
    announced: WatermarkAlignmentEvent | None

    @property
    def group(self) -> Group:
        """The group after the turn. Raises `UnknownGroup` if it does not exist."""
        if self.after is None:
            raise UnknownGroup(self.name)
        return self.after

    @property
    def event(self) -> WatermarkAlignmentEvent:
        """The group's announcement after the turn. Raises `UnknownGroup` if it does not exist."""
        if self.announced is None:
            raise UnknownGroup(self.name)
        return self.announced

    def removed_by(self, kind: type[Command]) -> frozenset[ReaderKey]:
        """Return the readers that commands of the class `kind` removed from the group."""
        done = ((command, outcome) for command, outcome in zip(self.commands, self.outcomes, strict=True))
        return frozenset(
            key
            for command, outcome in done
            if isinstance(command, kind) and isinstance(outcome, Done)
            for key in outcome.removed
        )


def turn(
    group: Group | None,
    commands: Sequence[Command],
    now: Now,
    *,
    name: str = "",
    floor: int = 0,
    limits: GroupLimits = GroupLimits(),  # noqa: B008 – frozen
) -> Turn:
    """Carry out `commands` on the group, and return the turn.

    If `group` is None, a command may create the group `name`. Its revision and epochs are then
    above `floor`.
    """
    before, outcomes = group, list[Outcome]()
    rules = _Rules(name if group is None else group.name, now, floor, limits)
    if group is not None and now.jumps:
        group = after_jumps(group, now.jumps)
    for are_reports, neighbours in groupby(commands, key=lambda command: type(command) is Reports):
        if are_reports:
            reports = [command for command in neighbours if isinstance(command, Reports)]
            group = rules.take_reports(group, reports, outcomes)
            continue
        for command in neighbours:
            try:
                group, outcome = rules.carry_out(command, group)
            except (Refused, PreconditionFailed) as refusal:
                outcome = refusal
            outcomes.append(outcome)
    if group is None:
        return Turn(rules.name, now, commands, outcomes, before, None, None)
    group, event = evaluate(group, now)
    return Turn(group.name, now, commands, outcomes, before, group, event)


class _Rules:
    def __init__(self, name: str, now: Now, floor: int, limits: GroupLimits) -> None:
        self.name, self.now, self.floor, self.limits = name, now, floor, limits
        self._silent: Group | None = None
        self._excused: Group | None = None

    def found(self, group: Group) -> Group:
        """Return `group` or, if a reader's command ends an outage, a group with extended leases.
        Readers' commands are applied to the result.

        Takes O(readers). The result is reused for further commands on the same group.
        """
        if self._silent is not group or self._excused is None:
            self._silent, self._excused = group, after_silence(group, self.now.ms)
        return self._excused

    def take_reports(self, group: Group | None, commands: list[Reports], outcomes: list[Outcome]) -> Group | None:
        """Return the group after `Reports`, and append the outcome of each to `outcomes`."""
        if group is None:
            outcomes += [UnknownGroup(self.name) for _ in commands]
            return None
        items = commands[0].items if len(commands) == 1 else chain.from_iterable(each.items for each in commands)
        found = self.found(group)
        after, refusals = report_all(found, items, self.now, self.limits)
        outcomes += _shared(refusals, commands) if refusals else [_NONE_REFUSED] * len(commands)
        return group if after is found else after

    def carry_out(self, command: Command, group: Group | None) -> tuple[Group, Outcome]:
        """Return group and outcome after a command other than `Reports`, or raise its refusal."""
        if isinstance(command, Once):
            return self._once(command, group)
        if isinstance(command, Register):
            return self._register(command, group)
        if group is None:
            raise UnknownGroup(self.name)
        match command:
            case Refresh(announced):
                return not_below(group, announced, self.now.ms), _DONE
            case Progress(source, event, named):
                after = progress(self.found(group), source, event, self.now)
                self.limits.check_progress(after, source, event.subtask, event.epoch, named or event.splits)
                return after, _DONE
            case Renew(source, subtask, epoch):
                return renew(self.found(group), source, subtask, epoch, self.now), _DONE
            case Arrive(source, arriving):
                return arrive(group, source, arriving), _DONE
            case Expire(expiry):
                return _without(group, expired_readers(group, expiry))
            case RemoveLost(readers):
                known = ((key, group.readers.get(key)) for key in readers)
                return _without(group, [key for key, reader in known if reader is not None and reader.lost])
            case _:
                raise TypeError(f"not a command: {command!r}")

    def _register(self, command: Register, group: Group | None) -> tuple[Group, Outcome]:
        source, event = command.source, command.event
        self.limits.check_registration(group, self.name, source, event)
        group = group or create(self.name, event.config or GroupConfig(), self.now.ms, floor=self.floor)
        after = register(self.found(group), source, event, self.now)
        return after, Opened(after.readers[source, event.subtask].epoch)

    def _once(self, command: Once, group: Group | None) -> tuple[Group, Outcome]:
        """Carry out a command, or return the outcome of the first command with the same `act`."""
        known = group.act(command.act) if group is not None and command.act else None
        if group is not None and known is not None:
            if isinstance(command, Configure):
                return group, Configured(known.config_version, known.created)
            return group, Done(repeated=True)
        after, outcome = self._first(command, group)
        if not command.act:
            return after, outcome
        version, created = (outcome.version, outcome.created) if isinstance(outcome, Configured) else (0, False)
        return after.with_act(Act(command.act, version, created)), outcome

    def _first(self, command: Once, group: Group | None) -> tuple[Group, Outcome]:
        if isinstance(command, Configure):
            return self._configure(command, group)
        if group is None:
            raise UnknownGroup(self.name)
        match command:
            case Leave(source, subtask, epoch):
                return leave(self.found(group), source, subtask, epoch, self.now), Done(((source, subtask),))
            case Evict(source, subtask):
                return evict(group, source, subtask), Done(((source, subtask),))
            case Pause(source, reason, _, by):
                pause = SourcePause(source=source, at=self.now.ms, by=by, reason=reason)
                return source_pauses.pause(group, pause, self.now.ms), _DONE
            case Resume(source):
                return source_pauses.resume(group, source, self.now.ms), _DONE

    def _configure(self, command: Configure, group: Group | None) -> tuple[Group, Outcome]:
        self.limits.check_config(self.name, command.config)
        only, never = command.only, command.never
        if (only is not None and not only.have(group)) or (never is not None and never.have(group)):
            raise PreconditionFailed(
                "there is no such group yet" if group is None else "the configuration has changed: GET it first"
            )
        found = group or create(self.name, command.config, self.now.ms, floor=self.floor)
        after = configured(found, command.config, self.now.ms)
        return after, Configured(after.config_version, group is None, None if group is None else group.config)


def _without(group: Group, readers: list[ReaderKey]) -> tuple[Group, Outcome]:
    return without_readers(group, readers), Done(tuple(readers))


def _shared(refusals: Mapping[int, Refused], commands: list[Reports]) -> list[Outcome]:
    """Return the outcome of each of `commands`, with its share of `refusals`.

    The keys of `refusals` are indexes into the reports of all commands together. Those in an
    outcome are indexes into the reports of its own command.
    """
    places = [(number, index) for number, command in enumerate(commands) for index in range(len(command.items))]
    shares = [dict[int, Refused]() for _ in commands]
    for place, refusal in refusals.items():
        number, index = places[place]
        shares[number][index] = refusal
    return [Taken(share) for share in shares]
