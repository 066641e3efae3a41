"""The alignment rule: from the readers' reports to the ceiling of their group.

**The rule.** Each reader r that counts has reported its watermark w(r). It may offer a reach R(r),
the event time that its next batch would reach without the group's ceiling. L is the lowest w(r),
the group's watermark, and d is `max_drift_ms`. The ceiling, the max desired watermark, is

    strict    C = L + d
    joint     C = max(L + d, the lowest over all r of max(w(r), R(r)))

A reader counts if it has reported and is not lost. With `on_lost_reader: hold` a lost reader counts
too, with its watermark but without its reach. An idle or finished reader counts as MAX, and so does
one that is passed over (`long_waits`), so they block no reader.

Three cases are special:

* If no reader has ever reported, L is MIN and there is no ceiling, as in Flink, where the first
  announcement comes with the first report.
* If an expected source has not reported, L and the ceiling are MIN, and all readers wait for the
  common start.
* If readers have reported but none counts now (all are lost, or gone), both are MAX, and no reader
  waits.

**Why joint.** With L + d alone a group advances by one drift for each round of reports, however
much a batch could read: 30 s of event time at a time out of a day, as Flink did before 2.3.0
(FLINK-37399; since that release, its sources overrun the drift). If all readers can reach an event
time in their next batch, they may read up to it without a round of reports in between.

**The guarantees**, in any order of messages, and however late they come:

1. *No plan is above the ceiling that its reader received last*: the planner takes the lower of that
   ceiling and its own target T. The plan may be above the present ceiling, which falls when a
   reader reports from further behind. If the plan is in Spark's checkpoint by then, it is read as
   it was logged.
2. *No plan leaves a reader behind by more than the drift or one batch of that reader's own,
   whichever is greater.* A plan up to T was made under a ceiling C ≥ T, which was computed from the
   reports w and R. So T ≤ L + d ≤ w(r) + d, or T ≤ max(w(r), R(r)), for each r; and R(r) − w(r) is
   one batch of r. So T − L is at most d or, if that is greater, the lowest max(w(r), R(r)) − L. An
   older ceiling can only be lower, because w(r) never falls during a run (unless a new partition
   brings old records).
3. *The same holds at commits.* When reader r commits a batch, it is at w(r) or above. With the
   batch under way or the next one, r reaches R(r), because from any later position the same budget
   reaches at least as far. So after each reader has planned once more, all can be at C.
4. *No reader waits for ever, and joint makes no reader wait that strict would let read on*, since C
   ≥ L + d. The lowest reader never waits: its first unread record is at L + 1 + o, where o is its
   out-of-orderness, and max_drift > o (`lockgate.plan.model.Bounds`). If it has nothing unread, its
   watermark follows the clock, or it becomes idle, finishes, or loses its lease. `long_waits` has
   the rule for readers that make others wait too long.

**The cost of an offer that is not kept.**

* The offer of a reader that dies in its batch counts until its lease ends. The others get to R(r)
  and stop there.
* A batch that failed and is read again costs nothing, because the offer was made from the position
  where that batch begins.
* An offer that was too high (a smaller budget after a restart, a new partition with old records)
  lets the others read up to that offer, once, because each offer replaces the previous one.
* An offer of MAX would let the others read without a limit until the reader's next report. So an
  offer is never above the last event time in the reader's logs, nor above the limit that the
  reader's own splits set (`Draft.horizon` in `lockgate.plan`).

A reader without an offer counts with w(r): the others may read up to w(r), or up to L + d if that
is higher. Executors' progress raises w(r) during a batch. If that batch fails, r may be behind by
the drift plus that batch.

**The rate** is that of the slowest reader, which never waits while it is lowest. While it reads,
its offer R(r) still counts, so the others go on up to there. Each time that another reader's lower
reach ends a batch early, the slowest reader pays the fixed cost of one more batch. If both are
equally fast, this can happen in every batch of the other reader. Under joint, readers that have a
backlog may be further apart than max_drift; choose strict if that must not happen.

`tests/core/group/test_catch_up_model.py` checks 1 to 4 with random fleets in virtual time, counting
every record, and measures the rate. A model checker visits each state of `specification/Group.tla`,
where the guarantees are named `PlanWithinCeiling`, `NoReaderLeftBehind`, `CeilingWithinReach` and
`LowestNeverWaits` (docs/internals/specification.md).

The revision never falls. It rises when the group's watermark, its ceiling or the set of paused
sources (`source_pauses`) changes. It also rises when the store has lost an announced revision
(`group.not_below`).

This follows Flink's `SourceCoordinator.announceCombinedWatermark` and `WatermarkAggregator`, which
have only the strict rule. Traces of both are replayed against that rule
(docs/internals/flink-parity.md).
"""

from dataclasses import dataclass, replace

from lockgate.group.group import Group, tick
from lockgate.group.leases import after_leases, first_lease_end, in_grace
from lockgate.group.long_waits import after_long_waits, wait_ends
from lockgate.group.now import Now
from lockgate.group.reader import ReaderKey
from lockgate.group.reporting import RESTING
from lockgate.watermark import MAX, MIN, add
from lockgate.wire.events import Blocker, CatchUp, Mode, OnLostReader, WatermarkAlignmentEvent

BLOCKERS_LIMIT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The result of the alignment rule.

    Attributes:
        group_watermark: The lowest watermark (ms) of the readers that count.
        ceiling: The event time (ms) up to which readers may read. In mode `observe` it is not
            enforced.
        holders: The readers with the lowest watermark, at most `BLOCKERS_LIMIT`.
        waiting_for: The expected sources that have not reported, at most `BLOCKERS_LIMIT`.
    """

    group_watermark: int
    ceiling: int
    holders: tuple[ReaderKey, ...]
    waiting_for: tuple[str, ...] = ()


def evaluate(group: Group, now: Now) -> tuple[Group, WatermarkAlignmentEvent]:
    """Apply ended leases, long waits and the alignment rule at `now`, and return the resulting
    group with the event that announces it.

    The group is the same object if nothing has changed.
    """
    group = settled(group, now)
    decision = decide(group, now)
    observed = group.config.mode is Mode.OBSERVE
    ceiling = MAX if observed else decision.ceiling
    if (decision.group_watermark, ceiling) != (group.group_watermark, group.max_desired_watermark):
        revision = tick(group.revision, now.ms)
        group = replace(
            group, revision=revision, group_watermark=decision.group_watermark, max_desired_watermark=ceiling
        )
    return group, WatermarkAlignmentEvent(
        group=group.name,
        revision=group.revision,
        group_watermark=decision.group_watermark,
        max_desired_watermark=ceiling,
        blocked_by=_blockers(group, decision),
        would_be=decision.ceiling if observed else None,
        config_version=group.config_version,
        paused_sources=group.paused_sources,
    )


def next_deadline(group: Group, now: Now) -> int | None:
    """Return the next time (ms) at which `evaluate` may return a new event without a command.

    At that time a lease ends, a wait becomes too long, or the grace of a new group ends. Return
    None if none of these is ahead.
    """
    group, lease_ms = settled(group, now), group.config.lease_ms
    first = first_lease_end(group)
    ends = [] if first is None else [now.ends_ms(first, lease_ms)]
    held, longest_ms = wait_ends(group, now.ms), group.config.max_wait_ms
    if held is not None and longest_ms is not None:
        ends.append(now.ends_ms(held, longest_ms))
    if group.cap is not None and in_grace(group, now):
        ends.append(now.ends_ms(group.grace_until, lease_ms))
    return min(ends, default=None)


def settled(group: Group, now: Now) -> Group:
    """Return the group at `now`, after `after_leases` and `after_long_waits`."""
    return after_long_waits(after_leases(group, now), now)


def decide(group: Group, now: Now) -> Decision:
    """Return the result of the alignment rule for a group that `settled` has returned."""
    missing = group.first_missing(BLOCKERS_LIMIT)
    if missing:
        return Decision(group_watermark=MIN, ceiling=MIN, holders=(), waiting_for=missing)
    if not group.started:
        return Decision(group_watermark=MIN, ceiling=_capped(group, MAX, now), holders=())
    with_lost = group.config.on_lost_reader is OnLostReader.HOLD
    lowest = group.readers.lowest_watermark(with_lost=with_lost)
    ceiling = add(lowest, group.config.max_drift_ms)
    if group.config.catch_up is CatchUp.JOINT:
        ceiling = max(ceiling, group.readers.lowest_reach(with_lost=with_lost))
    holders = group.readers.at_watermark(lowest, BLOCKERS_LIMIT, with_lost=with_lost)
    return Decision(group_watermark=lowest, ceiling=_capped(group, ceiling, now), holders=holders)


def _capped(group: Group, ceiling: int, now: Now) -> int:
    return ceiling if group.cap is None or not in_grace(group, now) else min(ceiling, group.cap)


def _blockers(group: Group, decision: Decision) -> tuple[Blocker, ...]:
    """Return up to `BLOCKERS_LIMIT` readers that block the group. An expected source that has not
    reported is listed as its reader 0.
    """
    awaited = [Blocker(source=source, subtask=0, watermark=MIN) for source in decision.waiting_for]
    lowest = [_holder(group, key, decision.group_watermark) for key in decision.holders]
    return tuple((awaited + lowest)[:BLOCKERS_LIMIT])


def _holder(group: Group, key: ReaderKey, watermark: int) -> Blocker:
    reader, split = group.readers[key], None
    if reader.arriving is not None and reader.arriving.watermark == watermark:
        split = reader.arriving.split
    elif reader.reported is not None and reader.reported.splits:
        splits = reader.reported.splits.items()
        held = ((split.watermark, name) for name, split in splits if split.state not in RESTING)
        split = min(held, default=(MIN, None))[1]
    return Blocker(source=key[0], subtask=key[1], watermark=watermark, split=split)
