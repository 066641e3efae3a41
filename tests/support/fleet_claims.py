"""The claims about a group that catches up, checked at each plan and each batch of a fleet.

Nothing here asks the planner or the alignment. A reader's position, and the reach of its next
batch, are counted record by record.
"""

from dataclasses import dataclass

from lockgate import watermark
from lockgate.plan.model import Limit, Plan
from support.fleet import Batch, Query, Told, Word


def stands_at(word: Word) -> int:
    """The watermark of a reader that has read up to `positions`: the lowest of its splits'."""
    return min((_split_stands_at(word, split) for split in word.ends), default=watermark.MAX)


def gets_to(word: Word) -> int:
    """How far the next batch gets at most, the group left out. The budget, the horizon, and the end
    of the logs stop it.
    """
    member = word.member
    unread = sorted(t for split, end in word.ends.items() for t in member.logs[split][word.positions[split] : end])
    highest = max((t for split, end in word.ends.items() for t in member.logs[split][:end]), default=watermark.MIN)
    horizon = min(_read_out_at(word, split) for split in word.ends) + member.bounds.max_drift
    too_much = (t for t in unread if member.budget is not None and _cost(word, t) > member.budget)
    return min(highest, horizon, next(too_much, watermark.MAX) - 1)


def _cost(word: Word, event_time: int) -> int:
    """The records of a batch that reads each split up to its first record above `event_time`."""
    cost = 0
    for split, end in word.ends.items():
        unread = word.member.logs[split][word.positions[split] : end]
        cost += next((n for n, t in enumerate(unread) if t > event_time), len(unread))
    return cost


def _split_stands_at(word: Word, split: str) -> int:
    position = word.positions[split]
    if position < word.ends[split]:
        return word.member.logs[split][position] - word.member.bounds.disorder - 1
    return _read_out_at(word, split)


def _read_out_at(word: Word, split: str) -> int:
    """h(s): below this nothing is still to come once the split is read to its end."""
    bounds, log = word.member.bounds, word.member.logs[split][: word.ends[split]]
    return max(max(log, default=watermark.MIN) - bounds.disorder, word.at - bounds.idle_timeout) - 1


@dataclass
class Claims:
    """Raises `AssertionError` where one does not hold. `joint`: whether readers may be a batch
    apart. `worst`: the furthest that a batch was above a reader that it left behind, in ms.
    """

    max_drift: int
    joint: bool = True
    worst: int = 0
    rows: int = 0
    late: int = 0
    held_plans: int = 0

    def planned(self, query: Query, batch: Batch) -> None:
        """No plan is above the ceiling received last. None leaves another reader behind by more
        than the drift, or one batch of that reader.
        """
        top, told = max(batch.event_times), batch.told
        assert top <= told.event.max_desired_watermark, "a plan above the ceiling last told"
        strict = watermark.add(told.event.group_watermark, self.max_drift)
        assert told.event.max_desired_watermark >= strict, "a ceiling below strict"
        lowest = min((stands_at(word) for word in told.words), default=watermark.MAX)
        for word in told.words:
            reach = gets_to(word) if self.joint and word.event.reach is not None else watermark.MIN
            allowed = max(watermark.add(lowest, self.max_drift), stands_at(word), reach)
            assert top <= allowed, f"{query.member.name} leaves {word.member.name} behind: {top} > {allowed}"

    def held(self, query: Query, plan: Plan[str], told: Told, word: Word) -> None:
        """The lowest reader never waits for the group."""
        self.held_plans += plan.limit is Limit.GROUP
        if plan.limit is Limit.GROUP:
            assert told.event.group_watermark < word.event.watermark, f"{query.member.name} is held, and stands lowest"

    def committed(self, query: Query, batch: Batch) -> None:
        """A reader is above any other by no more than the drift or one batch of that other, which
        may have got on meanwhile. No row is late.
        """
        delay = max(query.member.bounds.max_drift, query.member.bounds.disorder)
        if not query.member.opens:  # old records of a new split are outside the bounds
            self.late += sum(t <= watermark.add(query.highest, -delay) for t in batch.event_times)
        self.rows += len(batch.event_times)
        top = max(batch.event_times)
        others = {other.member.name: other for other in query.fleet.queries if other is not query}
        for word in batch.told.words:
            other = others.get(word.member.name)
            if other is None or other.rewinds != word.rewinds or batch.event_times == ():
                continue
            now = stands_at(
                Word(
                    member=word.member,
                    event=word.event,
                    positions=other.positions,
                    ends=word.ends,
                    at=word.at,
                    rewinds=0,
                )
            )
            self.worst = max(self.worst, top - now)
            assert top - now <= max(self.max_drift, gets_to(word) - stands_at(word)), "further apart than one batch"
