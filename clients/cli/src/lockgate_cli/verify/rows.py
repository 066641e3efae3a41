"""The rule that each row is read once, across restarts and handovers.

The ranges of offsets that were read may neither overlap nor leave holes. A reader that is killed
may have returned rows after its last acknowledged position. These rows are read again, and are only
counted. If a row before an acknowledged position is read again, the rule is violated.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lockgate_cli.verify.lines import MAX, Entry, Stalls, Verdict
from lockgate_cli.verify.model import Model

PIECE_MS = 250
"""How long (ms) after its last row was returned a line about rows may be written."""


@dataclass(slots=True)
class _Owned:
    """An assignment of a partition to a reader, its owner.

    Attributes:
        number: The number of the assignment.
        rows: The history lines for rows read during this assignment.
        acknowledged: The positions that the coordinator acknowledged, in rising order, each with
            its time (ms).
        restored: Whether the owner has reported a position that may be lower than an earlier one.
    """

    number: int
    rows: list[Entry] = field(default_factory=list)
    acknowledged: list[tuple[int, float]] = field(default_factory=list)
    restored: bool = False


def judge_rows(lines: Sequence[Entry], model: Model, stalls: Stalls, gaps: bool) -> None:
    """Check the rows of all sources whose partitions the coordinator assigns. If `gaps` is true,
    offsets may be missing within an assignment.
    """
    owned = defaultdict[tuple[str, str], dict[int, _Owned]](dict)
    exchanged, lease = dict[tuple[str, str], float](), model.config.get("lease_ms", MAX)
    for each in lines:
        body = each.body
        if body["k"] == "exchanged":
            late = body["t"] - exchanged.get((each.file, body["source"]), body["t"]) > 0.9 * lease
            exchanged[each.file, body["source"]] = body["t"]
            stopped = {(split, number) for split, number in body["stop"]}
            for split, number, position, restored in (*body["held"], *(() if late else body["given_back"])):
                one = owned[body["source"], split].setdefault(number, _Owned(number))
                one.restored = one.restored or restored
                known = one.acknowledged[-1][0] if one.acknowledged else -1
                if (split, number) not in stopped and position > known:
                    one.acknowledged.append((position, body["t"]))
        elif body["k"] == "rows":
            owned[body["source"], body["split"]].setdefault(body["number"], _Owned(body["number"])).rows.append(each)
    numbered = {source for _, source in exchanged}
    for (source, split), by_number in owned.items():
        if source in numbered:
            _judge_owners(split, [by_number[each] for each in sorted(by_number)], model, stalls, gaps)


def _judge_owners(split: str, owners: Sequence[_Owned], model: Model, stalls: Stalls, gaps: bool) -> None:
    verdict = model.verdict
    end, kept, read = -1, list[tuple[int, float]](), list[list[float]]()
    for owner in owners:
        verdict.counts["owners"] += bool(owner.rows)
        position, times = -1, [0.0]
        for each in owner.rows:
            first, to = each.body["from"], each.body["to"]
            verdict.counts["rows"] += to - first
            if position == -1:
                _judge_start(each, owner, (end, kept, read), model)
            elif first < position:
                verdict.breach("rows", each, split, f"its owner read {first} again, expected {position}")
            elif first > position and not gaps:
                verdict.breach("rows", each, split, f"{position} to {first} were left out")
            position = max(position, to)
            before = [a for a, b in stalls.get(each.file, ()) if a <= each.body["t"] <= b + 1_000]
            times.append(max(times[-1], min([each.body["t"] - PIECE_MS, *before])))
        read.append([*times, MAX])
        kept += owner.acknowledged
        end = max(end, position, *(position for position, _ in owner.acknowledged))


def _judge_start(
    each: Entry,
    owner: _Owned,
    before: tuple[int, Sequence[tuple[int, float]], Sequence[Sequence[float]]],
    model: Model,
) -> None:
    """Check at which offset an owner begins to read, and that earlier owners no longer read.

    `before` describes the earlier owners: the highest offset that was read or acknowledged, the
    acknowledged offsets with their times, and the rising times at which each owner read rows, with
    MAX at their ends. Times are in ms.
    """
    end, kept, read = before
    first, split, t = each.body["from"], each.body["split"], each.body["t"]
    between = (*model.losses, *model.unseen)
    # A store that has lost the handover may return the partition to the earlier owner.
    lost = min((a for a, b in between if b > t), default=MAX)
    if any(times[bisect_right(times, t)] < lost for times in read):
        model.verdict.breach("fenced", each, split, f"an earlier owner read on after number {owner.number} had begun")
    if end == -1 or owner.restored or (each.body.get("restores") and first > end):
        return  # the user's own positions
    # After a loss, a reader may claim positions again that were taken from it before.
    counted = [o for o, at in kept if not any(a <= max(t, at) and min(t, at) <= b for a, b in between)]
    if first > end:
        model.verdict.breach("rows", each, split, f"{end} to {first} were left out between two owners")
    elif first < max(counted, default=-1):
        text = f"it was read again from {first}, though position {max(counted)} was acknowledged"
        model.verdict.breach("acknowledged", each, split, text)
    else:
        model.verdict.counts["rows again"] += end - first


def judge_plans(lines: Sequence[Entry], verdict: Verdict) -> None:
    """Check that each plan of a query begins where the last one ended. Only a new run may replace
    the last plan of the previous run, because Spark may not have logged its batch.
    """
    last = dict[tuple[str, str], tuple[int, int, Any]]()
    for each in lines:
        if each.body["k"] != "plan":
            continue
        source, run = each.body["source"], (each.file, each.body["run"])
        for split, (first, to) in each.body["splits"].items():
            start, end, of = last.get((source, split), (first, first, run))
            verdict.counts["rows"] += to - first
            if first != end:
                if of == run or first != start:
                    what = f"{end} to {first} were left out" if first > end else f"{first} was read again"
                    verdict.breach("rows", each, f"{source} {split}", f"{what}, expected {end}")
                else:
                    verdict.counts["rows again"] += end - first
            last[source, split] = (first, to, run)


def judge_expected(lines: Sequence[Entry], verdict: Verdict) -> None:
    """Check that all rows that `expect` lines name were read."""
    ranges = defaultdict[tuple[str, str], list[tuple[int, int]]](list)
    for each in lines:
        body = each.body
        if body["k"] == "rows":
            ranges[body["source"], body["split"]].append((body["from"], body["to"]))
        elif body["k"] == "plan":
            for split, (first, to) in body["splits"].items():
                ranges[body["source"], split].append((first, to))
    for each in (entry for entry in lines if entry.body["k"] == "expect"):
        position = each.body["from"]
        for first, to in sorted(ranges[each.body["source"], each.body["split"]]):
            if first <= position:
                position = max(position, to)
        if position < each.body["to"]:
            text = f"{position} was never read, expected all up to {each.body['to']}"
            verdict.breach("rows", each, each.body["split"], text)
