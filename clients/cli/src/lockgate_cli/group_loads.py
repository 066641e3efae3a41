"""Estimates of a running group's workload, from two inspections (*looks*) and from its samples.

Two looks show how many records of a split were read and appended in between, and how far its
watermark rose. The samples show how fast a source reads when it does not wait for others. The
assumptions are returned as sentences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from lockgate.duration import spoken
from lockgate.simulate.workload import QueryLoad, SplitLoad, Stretch, Workload
from lockgate.watermark import MAX, MIN
from lockgate.wire.fields import Json
from lockgate_cli.client import Fault

LIVE_MS = 3_600_000
"""How long producers continue to append in the simulation."""

USUAL_RATE = 100_000.0
"""The assumed records per second of a query whose rate cannot be observed."""

SPAN_MS = 3_600_000
"""The assumed range of event time of unread records, if it cannot be observed."""


@dataclass(frozen=True, slots=True)
class GroupLook:
    """The readers of a group with their splits, by source, at the time `now` (ms)."""

    now: int
    readers: dict[str, list[Json]]

    def splits(self, source: str) -> dict[str, Json]:
        """Return the splits of a source that report a position, an end and a watermark."""
        return {
            name: split
            for reader in self.readers.get(source, [])
            for name, split in reader["splits"].items()
            if split.get("position") is not None and split.get("end") is not None and MIN < split["watermark"] < MAX
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Query settings that readers do not report, from the command line. If `records_per_second` is
    None, the observed rate of each query is used.
    """

    delay_ms: int
    window_ms: int
    overhead_ms: int
    trigger_ms: int
    records_per_second: float | None


def paces_of(samples: Sequence[Json], since: int = 0) -> dict[str, float]:
    """Return how fast each source reads without waiting for others, in ms of event time per ms: the
    fastest rise of its watermark between two consecutive `samples` from `since` (ms) on.
    """
    paces = dict[str, float]()
    for before, after in pairwise(each for each in samples if each["at"] >= since):
        passed = after["at"] - before["at"]
        for name in before["sources"].keys() & after["sources"].keys():
            earlier, later = (each["sources"][name]["watermark"] for each in (before, after))
            if passed > 0 and MIN < earlier <= later < MAX:
                paces[name] = max(paces.get(name, 0.0), (later - earlier) / passed)
    return paces


def load_of(
    group: str, config: Json, first: GroupLook, second: GroupLook, given: Given, paces: Mapping[str, float]
) -> tuple[Workload, list[str]]:
    """Return the group's workload at the `second` look, and sentences on what was assumed. `paces`
    is the result of `paces_of`. Raises `Fault` if no reader reports positions.
    """
    queries, assumed = list[QueryLoad](), list[str]()
    for name in second.readers:
        if second.splits(name):
            queries.append(_query(name, first, second, given, paces.get(name), assumed))
        else:
            assumed.append(f"{name} reports no partitions with positions, so it is left out.")
    if not queries:
        raise Fault(f"no reader of group {group} reports partitions with positions: there is nothing to simulate")
    assumed.append(
        f"The watermark delay is {spoken(given.delay_ms)} and windows have {spoken(given.window_ms)}: "
        "--delay and --window set them."
    )
    joint = config.get("catch_up", "joint") == "joint"
    return Workload(queries=tuple(queries), joint=joint, start_ms=second.now), assumed


def _query(
    name: str, first: GroupLook, second: GroupLook, given: Given, pace: float | None, assumed: list[str]
) -> QueryLoad:
    before, after = first.splits(name), second.splits(name)
    density = _densities(before, after)
    if not density:
        assumed.append(
            f"No partition of {name} has moved between the two looks, so the unread records of each are taken to lie "
            f"evenly up to now, or over {spoken(SPAN_MS)}. Call again while the query reads."
        )
    usual = median(density.values()) if density else None
    lag = max(((each.get("facts") or {}).get("producer_lag_ms") or 0 for each in second.readers[name]), default=0)
    found = (
        _split(each, before.get(each), split, density.get(each, usual), lag, first.now, second.now)
        for each, split in after.items()
    )
    rows = sum(after[each]["position"] - before[each]["position"] for each in after if each in before)
    seconds = (second.now - first.now) / 1000
    batches = _batches(name, first, second)
    rate = given.records_per_second
    if rate is None:
        busy = max(0.05 * seconds, seconds - batches * given.overhead_ms / 1000)
        now = rows / busy if rows > 0 and busy > 0 else 0.0
        unheld = 0.0 if pace is None or usual is None else 1000 * pace * sum(density.get(each, usual) for each in after)
        rate = max(now, unheld) or USUAL_RATE
        why = "as between the two looks" if now >= unheld else "by the fastest rise of its watermark in the samples"
        assumed.append(f"{name} reads {rate:,.0f} records a second, {why if now or unheld else 'for nothing tells'}.")
    return QueryLoad(
        name=name,
        splits=tuple(filter(None, found)) or (SplitLoad("none", ()),),
        records_per_second=rate,
        delay_ms=given.delay_ms,
        window_ms=given.window_ms,
        overhead_ms=given.overhead_ms,
        trigger_ms=given.trigger_ms,
        budget=max(1, rows // batches) if rows > 0 and batches > 0 else None,
    )


def _densities(before: dict[str, Json], after: dict[str, Json]) -> dict[str, float]:
    """Return the records per ms of event time of each split that was read between the looks."""
    rows = {each: after[each]["position"] - before[each]["position"] for each in after if each in before}
    risen = {each: after[each]["watermark"] - before[each]["watermark"] for each in rows}
    return {each: rows[each] / risen[each] for each in rows if rows[each] > 0 and risen[each] > 0}


def _split(
    name: str, before: Json | None, after: Json, density: float | None, lag: int, then: int, now: int
) -> SplitLoad | None:
    """Return a split with its unread and future records, or None if there are neither.

    `before` and `after` are the split in the looks at the times `then` and `now` (ms). `density` is
    in records per ms of event time, and `lag` is that of the split's producer (ms).
    """
    unread = max(0, after["end"] - after["position"])
    begin = after["watermark"] + 1
    newest = now - lag
    stretches = []
    if unread:
        until = newest if newest > begin else begin + SPAN_MS
        if density:
            until = begin + max(1, min(until - begin, round(unread / density)))
        stretches.append(Stretch(unread, begin, until))
    appended = 0 if before is None or now <= then else after["end"] - before["end"]
    hourly = appended * LIVE_MS // max(1, now - then)
    if hourly <= 0:
        return SplitLoad(name, tuple(stretches)) if stretches else None
    begin = max([newest, *(stretch.end for stretch in stretches)])
    return SplitLoad(name, (*stretches, Stretch(hourly, begin, begin + LIVE_MS)), max(0, now - begin))


def _batches(name: str, first: GroupLook, second: GroupLook) -> int:
    """Return the number of batches that the readers of a source completed between the two looks."""
    before = {reader["subtask"]: reader["batch_id"] for reader in first.readers.get(name, [])}
    after = {reader["subtask"]: reader["batch_id"] for reader in second.readers[name]}
    both = (each for each in after if None not in (before.get(each), after[each]))
    return sum(max(0, after[each] - before[each]) for each in both)
