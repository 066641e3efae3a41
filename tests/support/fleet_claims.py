"""The claims about a group that catches up, checked at each plan and each batch of a fleet.

Nothing here asks the planner or the alignment. A reader's position, and the reach of its next
batch, are counted record by record.
"""

from dataclasses import dataclass

from lockgate import watermark
from lockgate.plan.model import Limit, Plan
from support.fleet import Announced, Batch, Query, Reported


def watermark_of(report: Reported) -> int:
    """The watermark of a reader that has read up to `positions`: the lowest of its splits'."""
    return min((_watermark_of_split(report, split) for split in report.ends), default=watermark.MAX)


def reach_of(report: Reported) -> int:
    """How far the next batch gets at most, the group left out. The budget, the horizon, and the end
    of the logs stop it.
    """
    member = report.member
    unread = sorted(t for split, end in report.ends.items() for t in member.logs[split][report.positions[split] : end])
    highest = max((t for split, end in report.ends.items() for t in member.logs[split][:end]), default=watermark.MIN)
    horizon = min(_read_out_at(report, split) for split in report.ends) + member.bounds.max_drift
    too_much = (t for t in unread if member.budget is not None and _cost(report, t) > member.budget)
    return min(highest, horizon, next(too_much, watermark.MAX) - 1)


def _cost(report: Reported, event_time: int) -> int:
    """The records of a batch that reads each split up to its first record above `event_time`."""
    cost = 0
    for split, end in report.ends.items():
        unread = report.member.logs[split][report.positions[split] : end]
        cost += next((n for n, t in enumerate(unread) if t > event_time), len(unread))
    return cost


def _watermark_of_split(report: Reported, split: str) -> int:
    position = report.positions[split]
    if position < report.ends[split]:
        return report.member.logs[split][position] - report.member.bounds.disorder - 1
    return _read_out_at(report, split)


def _read_out_at(report: Reported, split: str) -> int:
    """h(s): below this nothing is still to come once the split is read to its end."""
    bounds, log = report.member.bounds, report.member.logs[split][: report.ends[split]]
    return max(max(log, default=watermark.MIN) - bounds.disorder, report.at - bounds.idle_timeout) - 1


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
        top, latest = max(batch.event_times), batch.latest
        assert top <= latest.event.max_desired_watermark, "a plan above the ceiling received last"
        strict = watermark.add(latest.event.group_watermark, self.max_drift)
        assert latest.event.max_desired_watermark >= strict, "a ceiling below strict"
        lowest = min((watermark_of(report) for report in latest.reports), default=watermark.MAX)
        for report in latest.reports:
            reach = reach_of(report) if self.joint and report.event.reach is not None else watermark.MIN
            allowed = max(watermark.add(lowest, self.max_drift), watermark_of(report), reach)
            assert top <= allowed, f"{query.member.name} leaves {report.member.name} behind: {top} > {allowed}"

    def held(self, query: Query, plan: Plan[str], latest: Announced, report: Reported) -> None:
        """The lowest reader never waits for the group."""
        self.held_plans += plan.limit is Limit.GROUP
        if plan.limit is Limit.GROUP:
            assert latest.event.group_watermark < report.event.watermark, f"{query.member.name} waits, and is lowest"

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
        for report in batch.latest.reports:
            other = others.get(report.member.name)
            if other is None or other.rewinds != report.rewinds or batch.event_times == ():
                continue
            now = watermark_of(
                Reported(
                    member=report.member,
                    event=report.event,
                    positions=other.positions,
                    ends=report.ends,
                    at=report.at,
                    rewinds=0,
                )
            )
            self.worst = max(self.worst, top - now)
            assert top - now <= max(self.max_drift, reach_of(report) - watermark_of(report)), (
                "further apart than one batch"
            )
