"""A group of readers, as it stands at one moment: values, and how a group comes to be.

A group is an immutable value. The readers' commands make a new one of it (`commands`), time ends
leases and waits (`leases`, `holds`), and out of both follow the group's watermark and its ceiling
(`alignment`). Nothing here does I/O or looks at a clock: time comes in as `now_ms`.

* What is given out only rises. Revisions, epochs and configuration versions are max(previous + 1,
  now): also over readers that left, and over a lost store, for its clock went on. So "newer" can be
  told from "older" by the number alone.
* A new group is careful. Its first readers present the ceiling that they were last told. Until one
  lease has passed, its own stays at or below the lowest of them (`cap`): after a lost store nobody
  runs free while the others are still on their way back.

Follows `SourceCoordinator` with its `WatermarkAggregator` (seed 001), which holds the same in one
job's memory and dies with it. Used by the coordinator service.
"""

from dataclasses import dataclass, field, replace

from lockgate.group.readers import Reader, Readers
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import GroupConfig, Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group as it stands. `revision` and the two watermarks are what was announced last;
    `heard_at` is the last word of any reader.

    `losses_at`: when somebody was last found lost, by the clock of then.
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
    readers: Readers = field(default_factory=Readers)

    @property
    def sources_missing(self) -> tuple[str, ...]:
        """The expected sources that have not reported yet."""
        return tuple(source for source in self.config.expected_sources if source not in self.sources_seen)

    @property
    def high_water(self) -> int:
        """At least every revision, epoch and configuration version that was given out: what a
        successor has to begin above.
        """
        epochs = (reader.epoch for reader in self.readers.values())
        return max(self.revision, self.config_version, self.left_epoch, *epochs)


def tick(previous: int, now_ms: int) -> int:
    """The next revision, epoch or version: the clock's reading, or one more than the previous if
    the clock has not got there yet.
    """
    return max(previous + 1, now_ms)


def create(name: str, config: GroupConfig, now_ms: int, *, floor: int = 0) -> Group:
    """A new group without readers. `floor`: the `high_water` of a predecessor of the same name, if
    it is known.
    """
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


def replace_config(group: Group, config: GroupConfig, now_ms: int) -> Group:
    """The same readers under other rules. A source that is newly expected and has a reader that
    reported is not waited for. O(readers).

    Who is lost, waits or is passed over is found anew: leases may have become longer, and each wait
    begins again. A lease that becomes shorter does so with the reader's next word: until then
    nobody has told it to speak more often.
    """
    reported = {source for (source, _), reader in group.readers.items() if reader.reported is not None}
    seen = frozenset(config.expected_sources) & (group.sources_seen | reported)
    kept_ms = max(0, group.config.lease_ms - config.lease_ms)
    readers = group.readers.updated({key: _fresh(reader, kept_ms) for key, reader in group.readers.items()})
    return replace(
        group, config=config, config_version=tick(group.config_version, now_ms), sources_seen=seen, readers=readers
    )


def _fresh(reader: Reader, kept_ms: int) -> Reader:
    """By how much its lease, if it is not parked, was longer than it will be: so much later it
    seems to have been heard.
    """
    reported = reader.reported
    heard_at = reader.heard_at + (kept_ms if reported is None or reported.park_ms is None else 0)
    if reported is not None and reader.lost:
        reported = replace(reported, reach=None)
    return replace(
        reader, heard_at=heard_at, reported=reported, lost=False, held_since=None, overdue=False, passed_over=False
    )
