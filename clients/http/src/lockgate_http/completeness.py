"""The check that a group has read everything before an event time.

`wait_until` and `lockgate wait` use it. It consists of pure functions of the coordinator's JSON
about the group and its readers (the *inspection*).

**The promise.** A scheduler that starts a job for the hour before 10:00 needs to know that no
record of that hour is still to come. The group's watermark does not show this, because it leaves
out readers for which no query should wait, such as lost ones. The rule below takes every reader
into account.

**The rule.** A group has passed `until` if each of its readers has read everything before `until`
(its watermark is `until` - 1 ms or above), and no reader is missing:

* A *lost* reader, and one that is *passed over* after a long wait, are judged by their own
  watermarks, even with `on_lost_reader: exclude`, because their unread records are still in Kafka.
* A *parked* or *paused* reader is judged by its watermark, which the group's watermark includes.
* A *finished* reader is judged by the last watermarks of its partitions. A query that is stopped in
  the middle of a backlog is finished, too. A finished reader without partitions (such as that of a
  query with `gate`) has not passed, because it does not show how far it has read.
* An *idle* reader or partition has read all its records, and its producer is silent. Its own
  watermark does not rise without new records, so it has also passed once the coordinator's clock is
  `max_drift` above `until`. Spark's readers already apply such a bound to the watermarks that they
  report, based on the lag that their producers have shown.
* These have not passed either: a reader that has *registered* but not reported, a partition that is
  assigned to no reader, an expected source without a reader, and a group without readers.
* A group that is younger than a lease has not passed. A coordinator that has lost its memory
  creates the group again with the first reader that comes back, before the others have come back.

While Kafka's consumer group moves a partition from one consumer to another, no report contains it.
The rule does not notice that it is missing. The watermark of a reader that has passed may fall
again if its query restarts from an older checkpoint. Up to `until`, the query then only rereads
records.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lockgate.sentences import moment, reader_name, span
from lockgate.watermark import MAX, MIN
from lockgate.wire.fields import Json

REASONS = 3
"""The maximum number of reasons that a `Standing` names."""

_ASLEEP = ("lost", "finished", "parked")
"""The states of readers that do not look for new records."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The result of checking whether a group has passed an event time.

    Attributes:
        passed: Whether the group has passed it.
        revision: The revision of the group that was checked.
        reasons: Up to `REASONS` clauses that say why the group has not passed it.
        due_ms: The time (ms) after which the group could pass without a new report, or None if it
            needs one.
        more: The number of further reasons.
    """

    passed: bool
    revision: int
    reasons: tuple[str, ...] = ()
    due_ms: int | None = None
    more: int = 0

    def __str__(self) -> str:
        """Return the reasons in one line."""
        return "; ".join([*self.reasons, *([f"and {self.more:,} more"] if self.more else [])])


@dataclass(frozen=True, slots=True)
class _Obstacle:
    """A reason why a group has not passed an event time, with `due_ms` as in `Standing`."""

    reason: str
    due_ms: int | None = None


def is_below(alignment: Json, until: int) -> bool:
    """Return whether the watermark in a group's event is too low to have passed `until` (ms)."""
    return bool(alignment["group_watermark"] < until - 1)


def standing_of_event(alignment: Json, until: int) -> Standing:
    """Return the `Standing` for `until` (ms) by the group's event alone. Requires `is_below`."""
    blockers = [f"it waits for {_place(each, each['watermark'], until)}" for each in alignment["blocked_by"]]
    reasons = blockers[:REASONS] or ["no reader has reported yet"]
    return Standing(False, alignment["revision"], tuple(reasons))


def standing(group: Json, readers: Mapping[str, Sequence[Json]], until: int) -> Standing:
    """Return the `Standing` of a group for the event time `until` (ms).

    `group` is its inspection, and `readers` contains all its readers with their partitions, by
    source.
    """
    found = list(_obstacles(group, readers, until))
    due = [each.due_ms for each in found]
    return Standing(
        not found,
        group["alignment"]["revision"],
        tuple(each.reason for each in found[:REASONS]),
        # the last one: before that, the others still stand in the way
        max((each for each in due if each is not None), default=None) if None not in due else None,
        max(0, len(found) - REASONS),
    )


def _obstacles(group: Json, readers: Mapping[str, Sequence[Json]], until: int) -> Iterator[_Obstacle]:
    young_ms = group["created_at"] + group["config"]["lease_ms"] - group["now"]
    if young_ms > 0:
        yield _Obstacle("the group is new, and readers may still be on their way back", young_ms)
    missing = [source for source in group["config"]["expected_sources"] if not readers.get(source)]
    yield from (_Obstacle(f"the expected source {source} has no reader") for source in missing)
    if not missing and not any(readers.values()):
        yield _Obstacle("it has no reader")
    for source, counts in group.get("enumerators", {}).items():
        if counts["unassigned"]:
            yield _Obstacle(f"partitions of {source} without a reader: {counts['unassigned']:,}")
    clock = group["now"] - group["config"]["max_drift_ms"]
    for source, some in readers.items():
        for reader in some:
            found = _obstacle(group["group"], {**reader, "source": source}, clock, until)
            if found is not None:
                yield found


def _obstacle(group: str, reader: Json, clock: int, until: int) -> _Obstacle | None:
    """Return why a reader of the group `group` has not passed `until` (ms), or None if it has.

    `clock` is `max_drift` behind the coordinator's clock. Idle partitions count as read up to it.
    """
    name, state = reader_name(reader), reader["state"]
    if state == "registered":
        return _Obstacle(f"{name} has not reported yet")
    read, by_clock = read_up_to(reader, clock)
    if read >= until - 1:
        return None
    if state in ("lost", "finished"):
        what = "is lost" if state == "lost" else "has ended"
        far = f"has read up to {moment(read)}" if read > MIN else "does not show how far it has read"
        remedy = f"if it does not come back, lockgate evict {group} {reader['source']} {reader['subtask']}"
        return _Obstacle(f"{name} {what} and {far} ({remedy})")
    if by_clock:
        return _Obstacle(
            f"{name} is idle, and may bring older records for {span(until - 1 - clock)}", until - 1 - clock
        )
    return _Obstacle(f"it waits for {_place(reader, read, until)}")


def read_up_to(reader: Json, clock: int) -> tuple[int, bool]:
    """Return the event time (ms) up to which a reader has read, and whether it rises with `clock`.

    `reader` is the reader's JSON in the inspection, with its splits. `clock` is the event time (ms)
    up to which idle partitions count as read.
    """
    awake = reader["state"] not in _ASLEEP
    splits = [split for split in reader["splits"].values() if split["state"] != "finished"]
    own = [reader["watermark"]] if reader["watermark"] < MAX else []
    if not own and not splits:
        # It reads nothing at present, or all of it to the end.
        return (MAX, False) if reader["splits"] else (clock, True) if awake else (MIN, False)
    idle = [max(s["watermark"], clock) if awake else s["watermark"] for s in splits if s["state"] == "idle"]
    others = [s["watermark"] for s in splits if s["state"] != "idle"]
    least = min([*own, *others, *idle])
    return least, awake and least == clock and least < min([*own, *others], default=MAX)


def _place(reader: Json, read: int, until: int) -> str:
    """Return a phrase that says how far a reader has read, and how much is left until `until`.

    `read` is the event time up to which it has read everything, or MIN. Both times are in ms.
    """
    where = f"at {moment(read)}, {span(until - read)} to go" if read > MIN else "which has read nothing yet"
    return f"{reader_name(reader)} {where}"
