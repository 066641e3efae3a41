"""What readers have handed out, held against the truth. Pure: it goes by their logs alone.

A log has a line for each record that the program got, one for each exchange of splits that was
answered, and one for each ceiling that the coordinator told. All times are of one clock, which all
processes of the machine share.

**Who ended hard** is read from the logs, too. A reader whose lease ran out was killed, was stopped,
could not say farewell, or was kept waiting by a busy machine. The records that it handed out
behind its last answered exchange may come again, and no other ones.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lockgate.watermark import MIN

Split = str


@dataclass(frozen=True, slots=True)
class Handed:
    """A record that a program got at `at` (s). `number`: of its assignment. `ceiling`, `time`: ms.
    `until`: the end of the lease, as the reader saw it then.
    """

    at: float
    reader: str
    split: Split
    offset: int
    time: int
    ceiling: int
    number: int
    until: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An exchange that was answered by `at`: the position of each split, under its number. `until`:
    the end of the lease that it began. `farewell`: whether it was the reader's last one.
    """

    at: float
    reader: str
    positions: Mapping[Split, tuple[int, int]]
    sent_at: float = 0.0
    until: float = 0.0
    farewell: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """A ceiling (ms) that the coordinator told a reader, or an onlooker, by `at`."""

    at: float
    reader: str
    revision: int
    ceiling: int


@dataclass(slots=True)
class Verdict:
    """`wrong`: each breach, as a sentence. `twice`: how many records were handed out again.
    `oldest_s`: how long before its owner's last record the first of these had been handed out.
    `lapsed`: how many readers' leases ran out. `compared`: how many ceilings that a reader was told
    an onlooker was told as well.
    """

    wrong: list[str] = field(default_factory=list)
    records: int = 0
    twice: int = 0
    takeovers: int = 0
    oldest_s: float = 0.0
    lapsed: int = 0
    compared: int = 0


@dataclass(frozen=True, slots=True)
class _Kept:
    """`last`: the highest position that was kept of each assignment. `lapsed`: the readers whose
    lease ran out. `loses`: whether the store lost positions.
    """

    last: Mapping[tuple[Split, int], int]
    lapsed: frozenset[str]
    loses: bool


def judged(
    handed: Iterable[Handed],
    snapshots: Iterable[Snapshot],
    truth: Mapping[Split, int],
    *,
    loses: bool,
    told: Iterable[Told] = (),
    seen: Mapping[int, int] | None = None,
    numbered: bool = True,
) -> Verdict:
    """`truth`: how many records each split has. `loses`: whether the store lost positions. `told`:
    what the coordinator told the readers; `seen`: the ceiling of each revision that an onlooker was
    told. `numbered`: assignments have fencing numbers, and a record comes again only by the end of
    a lease; Kafka's own group promises neither.
    """
    verdict, by_split = Verdict(), defaultdict[Split, list[Handed]](list)
    records = sorted(handed, key=lambda one: one.at)
    for each in records:
        by_split[each.split].append(each)
        if each.time > each.ceiling:
            verdict.wrong.append(f"{each.split} at {each.offset}: {each.time - each.ceiling} ms above the ceiling")
        if each.at > each.until:
            verdict.wrong.append(f"{each.split} at {each.offset}: {each.at - each.until:.3f} s after the lease")
    answered = sorted(snapshots, key=lambda one: one.at)
    kept = _Kept(_last_snapshots(answered), _lapsed(answered), loses)
    verdict.lapsed = len(kept.lapsed)
    for split, count in truth.items():
        _judge_missing(split, by_split[split], count, verdict)
        if numbered:
            _judge_owners(split, by_split[split], kept, verdict)
    if seen is not None:
        _judge_ceilings(records, sorted(told, key=lambda one: one.at), seen, verdict, loses)
    return verdict


def _judge_ceilings(
    records: Sequence[Handed], told: Sequence[Told], seen: Mapping[int, int], verdict: Verdict, loses: bool
) -> None:
    """No reader went by a ceiling that the coordinator had not told it, and the coordinator told
    all the same: unless the store lost revisions, and gave them out once more.
    """
    coming, highest = list(reversed(told)), defaultdict[str, int](lambda: MIN)
    for each in records:
        while coming and coming[-1].at <= each.at:
            one = coming.pop()
            highest[one.reader] = max(highest[one.reader], one.ceiling)
        if each.time > highest[each.reader]:
            verdict.wrong.append(f"{each.split} at {each.offset}: above all that the coordinator had told")
    for one in told:
        if one.revision in seen:
            verdict.compared += 1
            if one.ceiling != seen[one.revision] and not loses:
                verdict.wrong.append(f"{one.reader} was told another ceiling of revision {one.revision}")


def _lapsed(answered: Sequence[Snapshot]) -> frozenset[str]:
    """The readers whose lease ran out, between two exchanges or behind the last one."""
    last: dict[str, Snapshot] = {}
    found = set()
    for each in answered:
        if each.reader in last and each.sent_at >= last[each.reader].until:
            found.add(each.reader)
        last[each.reader] = each
    return frozenset(found | {reader for reader, each in last.items() if not each.farewell})


def _judge_missing(split: Split, handed: list[Handed], count: int, verdict: Verdict) -> None:
    verdict.records += len(handed)
    missing = set(range(count)) - {each.offset for each in handed}
    if missing:
        verdict.wrong.append(f"{split}: {len(missing)} of {count} records never came, the first at {min(missing)}")


def _judge_owners(split: Split, handed: list[Handed], kept: _Kept, verdict: Verdict) -> None:
    highest = 0
    first_at: dict[int, Handed] = {}
    ended: dict[int, float] = {}
    for each in handed:
        if each.number < highest:
            verdict.wrong.append(f"{split} at {each.offset}: an owner went on after the next one had begun")
        if each.number > highest:
            verdict.takeovers += highest > 0
            highest = each.number
        before = first_at.get(each.offset)
        if before is None:
            first_at[each.offset] = each
        elif before.number == each.number:
            verdict.wrong.append(f"{split} at {each.offset}: twice by the same owner")
        else:
            verdict.twice += 1
            verdict.oldest_s = max(verdict.oldest_s, ended[before.number] - before.at)
            if before.reader not in kept.lapsed:
                verdict.wrong.append(f"{split} at {each.offset}: again, and {before.reader} never lost its lease")
            if not kept.loses and each.offset < kept.last.get((split, before.number), 0):
                verdict.wrong.append(f"{split} at {each.offset}: again, though a later position was kept")
        ended[each.number] = each.at


def _last_snapshots(snapshots: Iterable[Snapshot]) -> dict[tuple[Split, int], int]:
    """The highest position that was kept of each assignment."""
    last: dict[tuple[Split, int], int] = {}
    for snapshot in snapshots:
        for split, (number, position) in snapshot.positions.items():
            last[split, number] = max(position, last.get((split, number), 0))
    return last
