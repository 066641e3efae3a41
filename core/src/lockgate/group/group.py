"""A group of readers: its values, and how a group is created.

A group is an immutable value. Commands return a changed copy of it (`commands`), and time ends
leases and long waits (`leases`, `long_waits`). The group's watermark and ceiling follow from its
readers (`alignment`). Nothing here does I/O or reads a clock: time is an argument, `now_ms`.

* Numbers only rise. Revisions, epochs and configuration versions are max(previous + 1, now). They
  rise even if a reader leaves and returns, or if the store loses its data, because the store's
  clock goes on.
* A new group is careful. Its first readers present the ceiling that they last had. Until one lease
  has passed, the group's own ceiling stays at or below the lowest of these (`cap`). So after the
  store has lost its data, no reader runs ahead while others have yet to come back.
* A new group restores an operator's configuration. Its first readers present the configuration that
  they last had, and when an operator set it. Until one lease has passed, the newest of these wins
  (`restored`).
* A command that is sent twice takes effect once. The group keeps the last `ACTS_KEPT` commands
  whose repetition would be refused (`Act`), so that a repetition gets the answer of the first one.

This follows Flink's `SourceCoordinator` with its `WatermarkAggregator`, which keeps the same values
in the memory of one job until the job ends.
"""

from dataclasses import dataclass, field, replace
from itertools import islice

from lockgate.group.reader import Reader
from lockgate.group.readers import Readers
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import GroupConfig, Mode, SourcePause

ACTS_KEPT = 16
"""The number of acts that a group keeps. A repetition comes within seconds, and acts are rare."""


@dataclass(frozen=True, slots=True)
class Act:
    """A command that took effect. Each repetition has the same `id`.

    If it configured the group, `config_version` and `created` are its outcome.
    """

    id: str
    config_version: int = 0
    created: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One group. All times are the store's, in ms.

    Attributes:
        config_version: It rises with each change of `config`.
        created_at: The time when the group was created.
        grace_until: The time until which the group is new.
        revision: The revision of the last announcement.
        group_watermark: The watermark (ms) in the last announcement.
        max_desired_watermark: The ceiling (ms) in the last announcement.
        cap: The limit (ms) on the ceiling while the group is new, or None.
        started: Whether a reader has reported.
        sources_seen: The expected sources that have reported.
        heard_at: The time when a reader last sent a command, or None.
        losses_at: The time when a reader was last marked lost, or None.
        left_epoch: The highest epoch of the readers that have left.
        configured_at: The time when an operator set the configuration, or 0.
        acts: The last commands with an `act`, the newest one last.
        paused_sources: The operators' pauses, by source name.
    """

    name: str
    config: GroupConfig
    config_version: int
    created_at: int
    grace_until: int
    revision: int
    group_watermark: int
    max_desired_watermark: int
    cap: int | None = None
    started: bool = False
    sources_seen: frozenset[str] = frozenset()
    heard_at: int | None = None
    losses_at: int | None = None
    left_epoch: int = 0
    configured_at: int = 0
    acts: tuple[Act, ...] = ()
    paused_sources: tuple[SourcePause, ...] = ()
    readers: Readers = field(default_factory=Readers)

    @property
    def sources_missing(self) -> tuple[str, ...]:
        """The expected sources that have not reported yet."""
        return self.first_missing(len(self.config.expected_sources))

    def first_missing(self, limit: int) -> tuple[str, ...]:
        """Return the first `limit` of `sources_missing`. Takes O(1) if none is missing."""
        expected, seen = self.config.expected_sources, self.sources_seen
        if len(seen) >= len(expected):
            return ()
        return tuple(islice((source for source in expected if source not in seen), limit))

    def act(self, id: str) -> Act | None:
        """Return the command with this id if it is among the last `ACTS_KEPT`, or None."""
        return next((act for act in self.acts if act.id == id), None)

    def pause_of(self, source: str) -> SourcePause | None:
        """Return the operator's pause of a source, or None if it is not paused."""
        return next((pause for pause in self.paused_sources if pause.source == source), None)

    def with_act(self, act: Act) -> "Group":
        return replace(self, acts=(*self.acts, act)[-ACTS_KEPT:])

    @property
    def high_water(self) -> int:
        """The highest revision, epoch or version so far. If the group is deleted and created again,
        its revisions, epochs and versions start above this number.
        """
        epochs = (reader.epoch for reader in self.readers.values())
        return max(self.revision, self.config_version, self.left_epoch, *epochs)


def tick(previous: int, now_ms: int) -> int:
    """Return the next revision, epoch or version: `now_ms`, but at least `previous` + 1."""
    return max(previous + 1, now_ms)


def create(name: str, config: GroupConfig, now_ms: int, *, floor: int = 0) -> Group:
    """Return a new group without readers. `floor` is its predecessor's `high_water`, or 0."""
    first = tick(floor, now_ms)
    held = bool(config.expected_sources) and config.mode is Mode.ENFORCE
    return Group(
        name=name,
        config=config,
        config_version=first,
        created_at=now_ms,
        grace_until=now_ms + config.lease_ms,
        revision=first,
        group_watermark=MIN,
        max_desired_watermark=MIN if held else MAX,
        left_epoch=floor,
    )


def not_below(group: Group, revision: int, now_ms: int) -> Group:
    """Return the group with a new revision above `revision` if its own is lower, which means that
    the store has lost an announced change.
    """
    return group if group.revision >= revision else replace(group, revision=tick(revision, now_ms))


def replace_config(group: Group, config: GroupConfig, now_ms: int) -> Group:
    """Return the group with the same readers and another configuration. Takes O(readers).

    Which readers are lost, overdue or passed over is decided again, and each wait starts over. A
    reader's present lease does not end earlier than before, because the reader receives the change
    only when it reports. The group does not wait for a newly expected source that has reported
    already.
    """
    reported = {source for (source, _), reader in group.readers.items() if reader.reported is not None}
    seen = frozenset(config.expected_sources) & (group.sources_seen | reported)
    kept_ms = max(0, group.config.lease_ms - config.lease_ms)
    fresh = {key: _fresh(reader, kept_ms) for key, reader in group.readers.items()}
    changed = {key: reader for key, reader in fresh.items() if reader is not group.readers[key]}
    return replace(
        group,
        config=config,
        config_version=tick(group.config_version, now_ms),
        sources_seen=seen,
        readers=group.readers.updated(changed),
    )


def configured(group: Group, config: GroupConfig, now_ms: int) -> Group:
    """Return the group with an operator's `config`, or the same object if it was set already."""
    if group.config == config and group.configured_at:
        return group
    after = group if group.config == config else replace_config(group, config, now_ms)
    return replace(after, configured_at=max(after.config_version, now_ms))


def restored(group: Group, config: GroupConfig | None, configured_at: int | None, now_ms: int) -> Group:
    """Return the group with `config`, which a reader received before the store lost the group.

    `configured_at` is the time (ms) when an operator set `config`, or None if no operator did.
    Return the same object if

    * no operator set it,
    * the group is no longer new,
    * the group's own configuration was set then or later, or
    * `configured_at` is later than the group's creation.
    """
    if config is None or configured_at is None or now_ms >= group.grace_until:
        return group
    if not group.configured_at < configured_at <= group.created_at:
        return group
    after = group if group.config == config else replace_config(group, config, now_ms)
    return replace(after, configured_at=configured_at)


def _fresh(reader: Reader, kept_ms: int) -> Reader:
    """Return the reader with `lost`, `held_since`, `overdue` and `passed_over` cleared.

    `kept_ms` is the time by which a new configuration shortens the lease. It is added to
    `heard_at`, unless the reader is parked, so that the present lease ends as before. A lost reader
    loses its `reach`. If nothing changes, return the same object.
    """
    reported = reader.reported
    if not kept_ms and not (reader.lost or reader.overdue or reader.passed_over) and reader.held_since is None:
        return reader
    heard_at = reader.heard_at + (kept_ms if reported is None or reported.park_ms is None else 0)
    if reported is not None and reader.lost:
        reported = replace(reported, reach=None)
    return reader._replace(
        heard_at=heard_at, reported=reported, lost=False, held_since=None, overdue=False, passed_over=False
    )
