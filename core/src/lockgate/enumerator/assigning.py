"""How free splits are assigned to readers, and how readers give back splits above their share.

`shares` decides how many splits each reader gets. Splits that are finished, or missing from the
last list, do not count. Fenced readers (older epochs) get none. The splits that a fenced reader
holds become free when its lease ends. Until then they count towards the share of the newest epoch
of the same subtask.

* A free split goes to the subtask that had it last, if that one is below its share. The others are
  assigned in the order of topic and partition. Each goes to the reader that lacks the most splits,
  relative to its capacity. So the splits of one topic are spread over the readers.
* A reader with more than its share has to give back the difference. Splits that the reader was
  already asked to give back come first, then those that were assigned to it last. A split that has
  to be given back is `revoked`, but stays with the reader until the reader gives it back. A reader
  with capacity 0 has to give back all splits.

Nothing is assigned before `assigning_at`, because other readers may still come and present the
splits that they hold. Flink assigns splits in `addReader`, `handlePartitionSplitChanges` and
`addSplitsBack`, and never takes one back from a living reader.
"""

from heapq import heapify, heappop, heapreplace

from lockgate.enumerator.model import ReaderId
from lockgate.enumerator.shares import shares
from lockgate.enumerator.work import Work
from lockgate.steps import Steps, for_each


def assign(work: Work) -> Steps[None]:
    """Assign free splits to readers, and ask readers to give back splits above their share.

    Do nothing before `assigning_at`, or if there is no reader.
    """
    if work.now_ms < work.now.assigning_at:
        return
    living = dict(work.newest())
    if not living:
        return
    missing = work.now.missing
    free = [id for id in work.free if id not in missing]
    own = dict[int, int]()
    yield from for_each(living.items(), lambda reader: own.update({reader[0]: _counted(work, reader)}))
    kept_for = dict.fromkeys(living, 0)
    for id in work.readers:
        if living[id[0]] != id[1]:
            kept_for[id[0]] += _counted(work, id)
    total = sum(own.values()) + sum(kept_for.values()) + len(free)
    capacities = {subtask: work.readers[subtask, epoch].capacity for subtask, epoch in living.items()}
    share = shares(total, capacities, {subtask: own[subtask] + kept_for[subtask] for subtask in own})
    yield from for_each(living.items(), lambda reader: _revoke(work, reader, own[reader[0]] - share[reader[0]]))
    if free and any(capacities.values()):
        room = {subtask: share[subtask] - own[subtask] - kept_for[subtask] for subtask in living}
        yield from _deal(work, free, living, room, capacities)


def _counted(work: Work, reader: ReaderId) -> int:
    """Return the number of splits that the reader holds, not counting missing ones."""
    held, missing = work.held(reader), work.now.missing
    return len(held) - len(missing.intersection(held)) if missing else len(held)


def _revoke(work: Work, reader: ReaderId, surplus: int) -> None:
    if surplus <= 0:
        work.revoke(reader, frozenset())
        return
    revoked, held, missing = work.revoked(reader), work.held(reader), work.now.missing
    if work.readers[reader].capacity == 0:
        work.revoke(reader, held.keys())
        return
    if len(revoked) == surplus and not missing:
        return
    candidates = [(id in revoked, each.number, id) for id, each in held.items() if id not in missing]
    work.revoke(reader, {id for _, _, id in sorted(candidates, reverse=True)[:surplus]})


def _deal(
    work: Work, free: list[str], living: dict[int, int], room: dict[int, int], capacities: dict[int, int]
) -> Steps[None]:
    dealt, others = list[tuple[ReaderId, str]](), list[str]()

    def to_last(id: str) -> None:
        last = work.free[id].last
        if last is not None and room.get(last, 0) > 0:
            room[last] -= 1
            dealt.append(((last, living[last]), id))
        else:
            others.append(id)

    yield from for_each(free, to_last)
    others.sort(key=lambda id: work.free[id].split.partition)
    others.sort(key=lambda id: work.free[id].split.topic)  # stable: by partition within a topic
    emptiest = [(-left / capacities[subtask], subtask) for subtask, left in room.items() if left > 0]
    heapify(emptiest)

    def to_emptiest(id: str) -> None:
        subtask = emptiest[0][1]
        dealt.append(((subtask, living[subtask]), id))
        left = room[subtask] = room[subtask] - 1
        if left:
            heapreplace(emptiest, (-left / capacities[subtask], subtask))
        else:
            heappop(emptiest)

    yield from for_each(others, to_emptiest)
    yield from work.assign(dealt)
