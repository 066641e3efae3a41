"""Pure functions that return a group, its sources, readers and splits as JSON for operators.

Each time is given as a number and as an ISO string. Pages of readers are limited in bytes and made
in steps, because a group may have thousands of readers, each with thousands of splits.
"""

import heapq
from collections.abc import Iterable
from itertools import groupby

import msgspec

from lockgate.group.group import Group
from lockgate.group.leases import has_finished, is_parked, lease_ends
from lockgate.group.reader import ReaderKey, watermark_of
from lockgate.sentences import paused_by, reader_name
from lockgate.steps import ITEMS_OF_A_STEP, Steps, parts
from lockgate.watermark import MAX, MIN, add, iso
from lockgate.wire.codec import to_json
from lockgate.wire.events import Mode, OnLostReader, ReaderFacts, SourcePause, SplitReport, WatermarkAlignmentEvent
from lockgate.wire.fields import Json
from lockgate_coordinator.service.sentences import lost_readers, waits_for, why_blocked
from lockgate_coordinator.telemetry.figures import Figures, state_of

PAGE_SIZE = 2_000_000
"""The maximum size of a page of readers in bytes. A page with a single reader may be larger."""

HEALTH = ("lost", "overdue", "starting", "paused", "waiting", "healthy", "idle")
"""The health of a group, worst first: a reader is lost; a reader has waited for longer than
`max_wait_ms`; an expected or registered reader has not reported; an operator has paused a source; a
reader waits at the ceiling; all readers read; no reader is left to read.
"""

LOST_NAMED = 3
"""The maximum number of lost readers that `reason` names."""

PAUSES_NAMED = 3
"""The maximum number of paused sources that `reason` names."""

_READERS_AT_ONCE = ITEMS_OF_A_STEP // 5  # a reader takes as long as five splits


def summary(group: Group, event: WatermarkAlignmentEvent, now_ms: int) -> Json:
    """Return the JSON of a group for the list of groups."""
    encoded, counted = to_json(event), _census(group, now_ms)[0]
    return {
        "group": group.name,
        "revision": event.revision,
        **with_iso("group_watermark", event.group_watermark),
        **with_iso("max_desired_watermark", event.max_desired_watermark),
        "drift_ms": _drift(group, counted.foremost),
        "max_drift_ms": group.config.max_drift_ms,
        "mode": group.config.mode.value,
        "readers": len(group.readers),
        **_counted(group, event, counted),
        "blocked_by": encoded["blocked_by"],
        "sentence": _sentence(group, encoded),
        **with_iso("now", now_ms),
    }


def inspected(
    group: Group, event: WatermarkAlignmentEvent, now_ms: int, *, limit: int, after: ReaderKey | None = None
) -> Steps[Json]:
    """Return the JSON of a group with up to `limit` readers, but without their splits. `after` is
    the last reader of the previous page, or None for the first page.
    """
    yield
    above = group.readers if after is None else (key for key in group.readers if key > after)
    shown, more = yield from _readers(group, above, limit, now_ms, splits=False)
    sources = [
        {"source": source, "paused": paused(group.pause_of(source)), "readers": [reader for _, reader in some]}
        for source, some in groupby(shown, key=lambda entry: entry[0][0])
    ]
    encoded, (counted, lost) = to_json(event), _census(group, now_ms)
    return {
        "group": group.name,
        "config": to_json(group.config),
        "configured_at": group.configured_at or None,
        "alignment": encoded,
        "sentence": _sentence(group, encoded),
        "reason": _reason(group, encoded, counted, lost, now_ms),
        **with_iso("group_watermark", event.group_watermark),
        **with_iso("max_desired_watermark", event.max_desired_watermark),
        **with_iso("created_at", group.created_at),
        **with_iso("now", now_ms),
        "drift_ms": _drift(group, counted.foremost),
        "waiting_for": list(group.sources_missing),
        "paused_sources": [paused(pause) for pause in group.paused_sources],
        "readers": len(group.readers),
        **_counted(group, event, counted),
        "sources": sources,
        "next": "{}/{}".format(*shown[-1][0]) if more else None,
    }


def inspected_source(group: Group, source: str, now_ms: int, *, limit: int, after: int | None = None) -> Steps[Json]:
    """Return the JSON of a source with up to `limit` readers and their splits. `after` is the last
    subtask of the previous page, or None for the first page.
    """
    yield
    first = -1 if after is None else after
    above = (key for key in group.readers if key[0] == source and key[1] > first)
    shown, more = yield from _readers(group, above, limit, now_ms, splits=True)
    return {
        "group": group.name,
        "source": source,
        "paused": paused(group.pause_of(source)),
        **with_iso("group_watermark", group.group_watermark),
        **with_iso("now", now_ms),
        "readers": [reader for _, reader in shown],
        "next": shown[-1][0][1] if more else None,
    }


def _counted(group: Group, event: WatermarkAlignmentEvent, counted: Figures) -> Json:
    states = dict(sorted(counted.states.items()))
    health = _health(group, event, counted)
    return {"health": health, "states": states, "waiting": counted.waiting, "overdue": counted.overdue}


def _census(group: Group, now_ms: int) -> tuple[Figures, list[ReaderKey]]:
    """Return the combined figures of all readers, and the first `LOST_NAMED` lost readers."""
    counted, lost = Figures(), list[ReaderKey]()
    for key, reader in group.readers.items():
        if counted.take(group, reader, now_ms) == "lost" and len(lost) < LOST_NAMED:
            lost.append(key)
    return counted, lost


def _health(group: Group, event: WatermarkAlignmentEvent, counted: Figures) -> str:
    """Return the group's health, one of `HEALTH`."""
    if counted.states["lost"]:
        return "lost"
    if counted.overdue:
        return "overdue"
    if group.sources_missing or (counted.states["registered"] and event.group_watermark == MIN):
        return "starting"
    if group.paused_sources:
        return "paused"
    if counted.waiting:
        return "waiting"
    return "healthy" if event.blocked_by else "idle"


def _sentence(group: Group, event: Json) -> str:
    return waits_for(event, group.sources_missing, observes=group.config.mode is Mode.OBSERVE)


def _reason(group: Group, event: Json, counted: Figures, lost: list[ReaderKey], now_ms: int) -> str | None:
    """Return sentences on the first blocker, on lost readers that no longer count, and on paused
    sources. Return None if there is nothing to say.
    """
    sentences = list[str]()
    for held in event["blocked_by"][:1]:
        key = (held["source"], held["subtask"])
        if key in group.readers and group.pause_of(held["source"]) is None:
            known = held["watermark"] not in (MIN, MAX)
            reader = {**_reader(group, key, now_ms), "behind_ms": now_ms - held["watermark"] if known else None}
            sentences.append(why_blocked(reader, reader_name(held), group.config.lease_ms))
    if lost and group.config.on_lost_reader is OnLostReader.EXCLUDE:
        sentences.append(lost_readers(["{}/{}".format(*key) for key in lost], counted.states["lost"]))
    sentences += [paused_by(pause.source, pause.by, pause.reason) for pause in group.paused_sources[:PAUSES_NAMED]]
    return " ".join(sentences) or None


def paused(pause: SourcePause | None) -> Json | None:
    """Return the JSON of an operator's pause, or None if `pause` is None."""
    if pause is None:
        return None
    return {"source": pause.source, **with_iso("at", pause.at), "by": pause.by, "reason": pause.reason}


def _readers(
    group: Group, keys: Iterable[ReaderKey], limit: int, now_ms: int, *, splits: bool
) -> Steps[tuple[list[tuple[ReaderKey, Json]], bool]]:
    """Return the first `limit` readers among `keys`, as keys and JSON, and whether there are more.
    Fewer are returned if their JSON would exceed `PAGE_SIZE`. With `splits`, the JSON includes
    splits.
    """
    page, shown, size = heapq.nsmallest(limit + 1, keys), list[tuple[ReaderKey, Json]](), 0
    yield
    for key in page[:limit]:
        reader = _reader(group, key, now_ms)
        if splits:
            reader["splits"] = yield from _splits(group, key)
        size += len(msgspec.json.encode(reader))
        if shown and size > PAGE_SIZE:
            return shown, True
        shown.append((key, reader))
        if not len(shown) % _READERS_AT_ONCE:
            yield
    return shown, len(page) > limit


def _splits(group: Group, key: ReaderKey) -> Steps[Json]:
    reported = group.readers[key].reported
    named, out = {} if reported is None else reported.splits, dict[str, Json]()
    for some in parts(sorted(named)):
        if out:
            yield
        out |= {name: _split(group, named[name]) for name in some}
    return out


def _reader(group: Group, key: ReaderKey, now_ms: int) -> Json:
    reader = group.readers[key]
    reported, arriving = reader.reported, reader.arriving
    watermark = MIN if reported is None and arriving is None else watermark_of(reader)
    state = state_of(group, reader, now_ms)
    parked = is_parked(reader) and state != "lost"
    return {
        "subtask": key[1],
        "epoch": reader.epoch,
        "owner": reader.owner,
        "attributes": dict(reader.attributes),
        "state": state,
        **with_iso("watermark", watermark),
        "drift_ms": _drift(group, watermark),
        "reach": None if reported is None or state == "lost" else reported.reach,
        "batch_id": None if reported is None else reported.batch_id,
        "lease_left_ms": None if has_finished(reader) else max(0, lease_ends(reader, group.config) - now_ms),
        **with_iso("parked_until", add(lease_ends(reader, group.config), 0) if parked else None),
        "progress_age_ms": _age(reader.progressed_at, now_ms),
        "waiting_ms": _age(reader.held_since, now_ms),
        "overdue": reader.overdue,
        "arriving": None
        if arriving is None
        else {"split": arriving.split, **with_iso("watermark", arriving.watermark)},
        "progress_ignored": reader.progress_ignored,
        "facts": None if reported is None or reported.facts is None else _facts(reported.facts, now_ms),
    }


def _facts(facts: ReaderFacts, now_ms: int) -> Json:
    """Return the JSON of a reader's `facts`, with the time until Kafka deletes unread records."""
    until = facts.retained_until
    return {
        **to_json(facts),
        **with_iso("retained_until", until),
        "retention_left_ms": None if until is None else max(0, until - now_ms),
    }


def _age(since: int | None, now_ms: int) -> int | None:
    return None if since is None else max(0, now_ms - since)


def _split(group: Group, split: SplitReport) -> Json:
    return {**to_json(split), **with_iso("watermark", split.watermark), "drift_ms": _drift(group, split.watermark)}


def _drift(group: Group, watermark: int) -> int | None:
    """Return how far (ms) `watermark` is above the group's, or None if either is MIN or MAX."""
    ends = (MIN, MAX)
    return None if watermark in ends or group.group_watermark in ends else watermark - group.group_watermark


def with_iso(name: str, value: int | None) -> Json:
    """Return two JSON fields for the time `value`: `name` in ms, and `<name>_iso` as an ISO 8601
    string. Both are None if `value` is None.
    """
    return {name: value, f"{name}_iso": None if value is None else iso(value)}
