"""From what the readers have reported to how far they may go.

The rule. The group's watermark is the lowest of all that count. The ceiling, the max desired watermark, is that plus `max_drift_ms`
(strict), or, if greater, the time that everybody's next batch gets to (joint): the lowest of max(watermark, reach).

Who counts: who has reported and is not lost; a lost one too where the group is to `hold`, with its watermark and without its reach.
An idle or finished reader counts as MAX, and so does one that is passed over (`holds`): they hold nobody.

Three cases are apart. Nobody has ever reported: MIN, and no ceiling, as in Flink, where the first announcement comes with the first
report. An expected source has not reported: MIN and a ceiling of MIN, all wait for the common start. Readers have reported but none
counts now (all lost, or gone): MAX, nobody is held.

Why the joint ceiling is safe. A reader that is told C can get to C in its very next batch, each of them, since C is at or below every
one's reach. So after one round all stand at C, apart by nothing but batches under way. It is never below the strict ceiling, so
the readers never wait where strict would let them go; and alone, drift per round trip is the speed limit of strict (FLINK-37399).

The revision moves exactly when one of the two values does, and only up. `evaluate` is the only one to move it.

Follows `SourceCoordinator.announceCombinedWatermark` and `WatermarkAggregator` (seed 001). Used by the coordinator service.
"""

from dataclasses import dataclass, replace

from lockgate.commands import RESTING
from lockgate.events import CatchUp, HeldBy, Mode, OnLostReader, WatermarkAlignmentEvent
from lockgate.group import Group, tick
from lockgate.holds import after_holds, hold_ends
from lockgate.leases import after_leases
from lockgate.readers import ReaderKey
from lockgate.watermark import MAX, MIN, add

HELD_BY_LIMIT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What follows from a group at one moment, before mode and revision. `holders`: the first HELD_BY_LIMIT that stand at the minimum.

    `waiting_for`: expected sources that have not reported.
    """

    group_watermark: int
    ceiling: int
    holders: tuple[ReaderKey, ...]
    waiting_for: tuple[str, ...] = ()


def decide(group: Group, now_ms: int) -> Decision:
    """The group's watermark, its ceiling, and the first readers that stand at the minimum."""
    return _decided(_settled(group, now_ms), now_ms)


def evaluate(group: Group, now_ms: int) -> tuple[Group, WatermarkAlignmentEvent]:
    """The event that holds at `now_ms`, and the group that has announced it: the very same one if no value has changed."""
    group = _settled(group, now_ms)
    decision = _decided(group, now_ms)
    observed = group.config.mode is Mode.OBSERVE
    ceiling = MAX if observed else decision.ceiling
    if (decision.group_watermark, ceiling) != (group.group_watermark, group.max_desired_watermark):
        revision = tick(group.revision, now_ms)
        group = replace(group, revision=revision, group_watermark=decision.group_watermark, max_desired_watermark=ceiling)
    return group, WatermarkAlignmentEvent(
        group=group.name,
        revision=group.revision,
        group_watermark=decision.group_watermark,
        max_desired_watermark=ceiling,
        held_by=_held_by(group, decision),
        would_be=decision.ceiling if observed else None,
        config_version=group.config_version,
    )


def next_deadline(group: Group, now_ms: int) -> int | None:
    """When time alone may next change the event: the end of a lease, of a wait, or of a new group's grace. None: never."""
    group = _settled(group, now_ms)
    first = group.readers.first_heard()
    ends = [] if first is None else [first + group.config.lease_ms]
    held = hold_ends(group, now_ms)
    if held is not None:
        ends.append(held)
    if group.cap is not None and group.grace_until > now_ms:
        ends.append(group.grace_until)
    return min(ends, default=None)


def _settled(group: Group, now_ms: int) -> Group:
    """The group with all that time has done to its readers."""
    return after_holds(after_leases(group, now_ms), now_ms)


def _decided(group: Group, now_ms: int) -> Decision:
    missing = group.sources_missing
    if missing:
        return Decision(group_watermark=MIN, ceiling=MIN, holders=(), waiting_for=missing)
    if not group.started:
        return Decision(group_watermark=MIN, ceiling=_capped(group, MAX, now_ms), holders=())
    with_lost = group.config.on_lost_reader is OnLostReader.HOLD
    lowest = group.readers.lowest_watermark(with_lost=with_lost)
    ceiling = add(lowest, group.config.max_drift_ms)
    if group.config.catch_up is CatchUp.JOINT:
        ceiling = max(ceiling, group.readers.lowest_reach(with_lost=with_lost))
    holders = group.readers.standing_at(lowest, HELD_BY_LIMIT, with_lost=with_lost)
    return Decision(group_watermark=lowest, ceiling=_capped(group, ceiling, now_ms), holders=holders)


def _capped(group: Group, ceiling: int, now_ms: int) -> int:
    return ceiling if group.cap is None or now_ms >= group.grace_until else min(ceiling, group.cap)


def _held_by(group: Group, decision: Decision) -> tuple[HeldBy, ...]:
    """An expected source that is missing holds by its first reader, which is awaited."""
    awaited = [HeldBy(source=source, subtask=0, watermark=MIN) for source in decision.waiting_for]
    standing = [_holder(group, key, decision.group_watermark) for key in decision.holders]
    return tuple((awaited + standing)[:HELD_BY_LIMIT])


def _holder(group: Group, key: ReaderKey, watermark: int) -> HeldBy:
    reported = group.readers[key].reported
    splits = {} if reported is None else reported.splits
    held = [(split.watermark, name) for name, split in splits.items() if split.state not in RESTING]
    return HeldBy(source=key[0], subtask=key[1], watermark=watermark, split=min(held)[1] if held else None)
