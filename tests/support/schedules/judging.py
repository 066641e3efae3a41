"""What readers have handed out, held against the truth. Pure: it goes by their logs alone.

A log has a line for each record that the program got, and one for each exchange of splits that was
answered. All times are of one clock, which all processes of the machine share.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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
    """An exchange that was answered by `at`: the position of each split, under its number."""

    at: float
    reader: str
    positions: Mapping[Split, tuple[int, int]]


@dataclass(slots=True)
class Verdict:
    """`wrong`: each breach, as a sentence. `twice`: how many records were handed out again.
    `oldest_s`: how long before its owner's last record the first of these had been handed out.
    """

    wrong: list[str] = field(default_factory=list)
    records: int = 0
    twice: int = 0
    takeovers: int = 0
    oldest_s: float = 0.0


def judged(
    handed: Iterable[Handed], snapshots: Iterable[Snapshot], truth: Mapping[Split, int], *, hard: bool, loses: bool
) -> Verdict:
    """`truth`: how many records each split has. `hard`: whether a reader was killed, or stopped for
    longer than its lease. `loses`: whether the store lost positions.
    """
    verdict, by_split = Verdict(), defaultdict[Split, list[Handed]](list)
    for each in sorted(handed, key=lambda one: one.at):
        by_split[each.split].append(each)
        if each.time > each.ceiling:
            verdict.wrong.append(f"{each.split} at {each.offset}: {each.time - each.ceiling} ms above the ceiling")
        if each.at > each.until:
            verdict.wrong.append(f"{each.split} at {each.offset}: {each.at - each.until:.3f} s after the lease")
    last = _last_snapshots(snapshots)
    for split, count in truth.items():
        _judge_split(split, by_split[split], count, last, verdict, loses)
    if verdict.twice and not hard:
        verdict.wrong.append(f"{verdict.twice} records came twice, and nobody was killed")
    return verdict


def _judge_split(
    split: Split,
    handed: list[Handed],
    count: int,
    last: Mapping[tuple[Split, int], int],
    verdict: Verdict,
    loses: bool,
) -> None:
    verdict.records += len(handed)
    missing = set(range(count)) - {each.offset for each in handed}
    if missing:
        verdict.wrong.append(f"{split}: {len(missing)} of {count} records never came, the first at {min(missing)}")
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
            if not loses and each.offset < last.get((split, before.number), 0):
                verdict.wrong.append(f"{split} at {each.offset}: again, though a later position was kept")
        ended[each.number] = each.at


def _last_snapshots(snapshots: Iterable[Snapshot]) -> dict[tuple[Split, int], int]:
    """The highest position that was kept of each assignment."""
    last: dict[tuple[Split, int], int] = {}
    for snapshot in snapshots:
        for split, (number, position) in snapshot.positions.items():
            last[split, number] = max(position, last.get((split, number), 0))
    return last
