"""The account of a run of the group: how fast it drained, how far apart its queries were, which
plans were too high.
"""

import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.more.group.fleet import Reading
from lockgate_testbed.skew import HOUR_MS

Batches = Sequence[Mapping[str, Any]]
"""As the application wrote them: wall clocks in s, event times in ms."""

CeilingUntil = Callable[[float], int | None]
"""The highest ceiling (ms) that the coordinator had made by a wall clock (s)."""


@dataclass(frozen=True, slots=True)
class Drain:
    """One query of a run. `seconds`: to its end, or until it was stopped. `hours`: of event time
    that it had read by then.
    """

    name: str
    seconds: float
    hours: float
    batches: int
    plan_ms: float

    @property
    def rate(self) -> float:
        """Hours of event time a minute."""
        return 60 * self.hours / self.seconds


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run. `drift`: (s since the start, hours between the foremost and the last query) at the
    end of each batch. `planned`: how many plans; `above_told`: those that read above the ceiling
    that their reader had received, `above_announced`: above any that the coordinator had made.
    """

    size: int
    way: str
    drains: tuple[Drain, ...]
    drift: tuple[tuple[float, float], ...]
    planned: int
    above_told: int
    above_announced: int

    @property
    def slowest(self) -> Drain:
        """The one that drained slowest, and so the rate of the group."""
        return min(self.drains, key=lambda drain: drain.rate)

    @property
    def peak_drift_hours(self) -> float:
        """The furthest apart that the queries were at the end of any batch."""
        return max((hours for _, hours in self.drift), default=0.0)


def outcome(
    size: int, way: str, fleet: Sequence[Reading], told: Mapping[str, Any], ceiling_until: CeilingUntil | None
) -> Outcome:
    """Sum a run up. `told`: the applications' output, by query."""
    batches = [batch for query in told.values() for batch in query["batches"]]
    announced = [(b["highest_ms"], ceiling_until(b["planned_at"])) for b in batches] if ceiling_until else []
    return Outcome(
        size=size,
        way=way,
        drains=tuple(_drain(reading, told[reading.name]) for reading in fleet),
        drift=tuple(_drift(fleet, told)),
        planned=len(batches),
        above_told=sum(b["highest_ms"] > b["ceiling_ms"] for b in batches),
        above_announced=sum(ceiling is None or highest > ceiling for highest, ceiling in announced),
    )


def _drain(reading: Reading, told: Mapping[str, Any]) -> Drain:
    batches: Batches = told["batches"]
    until = told["ended"] or (batches[-1]["ended_at"] if batches else told["began"] + 1)
    topic = reading.topic
    hours = topic.span_hours if told["ended"] else _stands_at(reading, told, until)
    plans = sorted(batch["plan_s"] for batch in batches)
    return Drain(
        reading.name, until - told["began"], hours, len(batches), 1000 * plans[len(plans) // 2] if plans else 0.0
    )


def _stands_at(reading: Reading, told: Mapping[str, Any], time_s: float) -> float:
    """Up to where (hours from the first record) a query had read everything at a wall clock: its
    last finished batch's target.
    """
    batches: Batches = told["batches"]
    if told["ended"] and told["ended"] <= time_s:
        return reading.topic.span_hours
    done = bisect.bisect_right([batch["ended_at"] for batch in batches], time_s)
    if not done:
        return 0.0
    return min(reading.topic.span_hours, (batches[done - 1]["target_ms"] - reading.topic.t0_ms) / HOUR_MS)


def _drift(fleet: Sequence[Reading], told: Mapping[str, Any]) -> list[tuple[float, float]]:
    began = min(query["began"] for query in told.values())
    moments = sorted(batch["ended_at"] for query in told.values() for batch in query["batches"])
    found = [(0.0, 0.0)]
    for moment in moments:
        stand = [_stands_at(reading, told[reading.name], moment) for reading in fleet]
        found.append((moment - began, max(stand) - min(stand)))
    return found
