"""A group, its sources, readers and splits for a person to look at: pure, from a group and the time.

ISO strings stand next to the numbers and never in their place.
"""

from lockgate.alignment import effective_watermark
from lockgate.codec import alignment_to_json, config_to_json, split_to_json
from lockgate.events import SplitReport, WatermarkAlignmentEvent
from lockgate.fields import Json
from lockgate.group import Group, Reader
from lockgate.leases import has_finished, is_lost, lease_ends
from lockgate.watermark import MAX, MIN, iso


def summary(group: Group, event: WatermarkAlignmentEvent) -> Json:
    """One line of the list of groups."""
    return {
        "group": group.name,
        "revision": event.revision,
        **_time("group_watermark", event.group_watermark),
        **_time("max_desired_watermark", event.max_desired_watermark),
        "readers": len(group.readers),
    }


def inspected(group: Group, event: WatermarkAlignmentEvent, now_ms: int) -> Json:
    """A whole group: its configuration, the event that holds, and its readers without their splits."""
    sources = sorted({source for source, _ in group.readers})
    return {
        "group": group.name,
        "config": config_to_json(group.config),
        "alignment": alignment_to_json(event),
        **_time("group_watermark", event.group_watermark),
        **_time("max_desired_watermark", event.max_desired_watermark),
        **_time("created_at", group.created_at),
        **_time("now", now_ms),
        "waiting_for": list(group.sources_missing),
        "sources": [{"source": source, "readers": _readers(group, source, now_ms, splits=False)} for source in sources],
    }


def inspected_source(group: Group, source: str, now_ms: int) -> Json:
    """One source with its readers and their splits. `readers` is empty if nobody has registered for it."""
    return {
        "group": group.name,
        "source": source,
        **_time("group_watermark", group.group_watermark),
        "readers": _readers(group, source, now_ms, splits=True),
    }


def _readers(group: Group, source: str, now_ms: int, *, splits: bool) -> list[Json]:
    mine = sorted(((subtask, reader) for (name, subtask), reader in group.readers.items() if name == source), key=lambda item: item[0])
    return [{"subtask": subtask, **_reader(group, reader, now_ms, splits=splits)} for subtask, reader in mine]


def _reader(group: Group, reader: Reader, now_ms: int, *, splits: bool) -> Json:
    reported = reader.reported
    watermark = MIN if reported is None else effective_watermark(reported)
    out: Json = {
        "epoch": reader.epoch,
        "owner": reader.owner,
        "attributes": dict(reader.attributes),
        "state": _state(group, reader, now_ms),
        **_time("watermark", watermark),
        "drift_ms": _drift(group, watermark),
        "reach": None if reported is None else reported.reach,
        "batch_id": None if reported is None else reported.batch_id,
        "lease_left_ms": None if has_finished(reader) else max(0, lease_ends(reader, group.config) - now_ms),
        "progress_ignored": reader.progress_ignored,
    }
    if splits:
        named = {} if reported is None else reported.splits
        out["splits"] = {name: _split(group, split) for name, split in sorted(named.items())}
    return out


def _state(group: Group, reader: Reader, now_ms: int) -> str:
    if is_lost(reader, group.config, now_ms):
        return "lost"
    reported = reader.reported
    if reported is None:
        return "registered"
    return "finished" if reported.finished else "idle" if reported.idle else "active"


def _split(group: Group, split: SplitReport) -> Json:
    return {**split_to_json(split), **_time("watermark", split.watermark), "drift_ms": _drift(group, split.watermark)}


def _drift(group: Group, watermark: int) -> int | None:
    """How far above the group's watermark; None where either is no time."""
    ends = (MIN, MAX)
    return None if watermark in ends or group.group_watermark in ends else watermark - group.group_watermark


def _time(name: str, value: int) -> Json:
    return {name: value, f"{name}_iso": iso(value)}
