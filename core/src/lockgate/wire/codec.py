"""The wire events as JSON-able dicts: one pair of functions each.

An absent field is left out of the JSON; where a field may be absent, null counts as absent. Times
are integers of 64 bits, so a JSON library has to keep them exact (`json` does).

Unknown fields of events are ignored, so that either side may be the newer one. Unknown fields of a
configuration are faults: `{"max_drift": 30000}` must not silently mean five minutes. All functions
`…_from_json` raise `InvalidMessage`, which carries the faults.

A report may have thousands of splits, and a batch thousands of reports. `…_in_steps` read them with
pauses after each `steps.AT_ONCE`.

Used by the coordinator's API and by the clients.
"""

from collections.abc import Sequence

from lockgate.errors import InvalidMessage
from lockgate.steps import AT_ONCE, Steps, at_once
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import (
    CONFIG_FLOORS,
    MAX_WAIT_FLOOR,
    Blocker,
    CatchUp,
    GroupConfig,
    Mode,
    OnLostReader,
    OnMaxWait,
    ProgressEvent,
    ReaderRegistrationEvent,
    RegistrationAnswer,
    ReportedWatermarkEvent,
    SplitProgress,
    SplitReport,
    SplitState,
    WatermarkAlignmentEvent,
)
from lockgate.wire.facts import facts_of, facts_to_json
from lockgate.wire.fields import Fields, Json
from lockgate.wire.source_pauses import pause_to_json, pauses_from_json

BATCH_LIMIT = 10_000
"""The most reports that one batch may carry."""


def config_to_json(config: GroupConfig) -> Json:
    return {
        "max_drift_ms": config.max_drift_ms,
        "update_interval_ms": config.update_interval_ms,
        "lease_ms": config.lease_ms,
        "on_lost_reader": config.on_lost_reader.value,
        "mode": config.mode.value,
        "catch_up": config.catch_up.value,
        "expected_sources": list(config.expected_sources),
        "max_wait_ms": config.max_wait_ms,
        "on_max_wait": config.on_max_wait.value,
    }


def config_from_json(value: object) -> GroupConfig:
    """Decode a configuration. An absent field has its default; an unknown one is a fault."""
    taken = Fields(value)
    config = _config(taken)
    taken.finish()
    return config


def report_to_json(report: ReportedWatermarkEvent) -> Json:
    out: Json = {
        "subtask": report.subtask,
        "epoch": report.epoch,
        "watermark": report.watermark,
        "idle": report.idle,
        "finished": report.finished,
        "reach": report.reach,
        "batch_id": report.batch_id,
        "park_ms": report.park_ms,
        "facts": None if report.facts is None else _present(facts_to_json(report.facts)),
        "splits": {name: _present(split_to_json(split)) for name, split in report.splits.items()},
    }
    return _present(out)


def report_from_json(value: object) -> ReportedWatermarkEvent:
    return at_once(report_in_steps(value))


def report_in_steps(value: object) -> Steps[ReportedWatermarkEvent]:
    """As `report_from_json`."""
    taken = Fields(value)
    report = yield from report_from_fields(taken)
    taken.finish()
    return report


def split_to_json(split: SplitReport) -> Json:
    return {
        "watermark": split.watermark,
        "state": split.state.value,
        "position": split.position,
        "end": split.end,
        "rows": split.rows,
    }


def reports_to_json(reports: Sequence[tuple[str, ReportedWatermarkEvent]]) -> Json:
    """Return the body of one batch, out of `(source, report)`."""
    return {"reports": [{"source": source, **report_to_json(report)} for source, report in reports]}


def reports_from_json(value: object) -> list[tuple[str, ReportedWatermarkEvent] | InvalidMessage]:
    """Return the reports of a batch, each judged alone. A faulty report is replaced by its faults.
    Raises `InvalidMessage` for a body that is no batch.
    """
    return at_once(reports_in_steps(value))


def reports_in_steps(value: object) -> Steps[list[tuple[str, ReportedWatermarkEvent] | InvalidMessage]]:
    """As `reports_from_json`."""
    reports, work = list[tuple[str, ReportedWatermarkEvent] | InvalidMessage](), 0
    for item in _batch_items(value):
        report = yield from _report_of_batch(item)
        reports.append(report)
        if isinstance(report, InvalidMessage):
            work += 10 * (len(report.faults) + report.more)  # each takes as long as ten splits
        else:
            work += 1 + len(report[1].splits)
        if work >= AT_ONCE:
            work = 0
            yield
    return reports


def _batch_items(value: object) -> list[object]:
    """Return the reports of a batch, unread. Raises `InvalidMessage` for a body that is no
    batch.
    """
    taken = Fields(value)
    items = taken.objects("reports", limit=BATCH_LIMIT)
    taken.finish()
    return items


def _report_of_batch(value: object) -> Steps[tuple[str, ReportedWatermarkEvent] | InvalidMessage]:
    """One report of a batch with its source, or its faults."""
    taken = Fields(value)
    source = taken.name("source")
    try:
        report = yield from report_from_fields(taken)
        taken.finish()
    except InvalidMessage as faults:
        return faults.with_traceback(None)  # which keeps all that was read
    return source, report


def progress_to_json(progress: ProgressEvent) -> Json:
    return {
        "subtask": progress.subtask,
        "epoch": progress.epoch,
        "batch_id": progress.batch_id,
        "attempt": progress.attempt,
        "splits": {
            name: {"watermark": split.watermark, "position": split.position, "rows": split.rows}
            for name, split in progress.splits.items()
        },
    }


def progress_from_json(value: object) -> ProgressEvent:
    return at_once(progress_in_steps(value))


def progress_in_steps(value: object) -> Steps[ProgressEvent]:
    """As `progress_from_json`."""
    taken = Fields(value)
    subtask, epoch = taken.integer("subtask", low=0), taken.integer("epoch", low=1)
    batch_id, attempt = taken.integer("batch_id", low=0), taken.integer("attempt", low=0)
    splits = dict[str, SplitProgress]()
    for name, item in taken.by_name("splits", required=True).items():
        taken.check_name("splits", name)
        splits[name] = _plain_progress(item) or _progress_of(taken.nested_in("splits", name, item))
        if not len(splits) % AT_ONCE:
            yield
    taken.finish()
    return ProgressEvent(subtask=subtask, epoch=epoch, batch_id=batch_id, attempt=attempt, splits=splits)


def registration_to_json(registration: ReaderRegistrationEvent) -> Json:
    return _present(
        {
            "subtask": registration.subtask,
            "owner": registration.owner,
            "takeover": registration.takeover,
            "attributes": dict(registration.attributes),
            "config": None if registration.config is None else config_to_json(registration.config),
            "ceiling": registration.ceiling,
            "configured_at": registration.configured_at,
        }
    )


def registration_from_json(value: object) -> ReaderRegistrationEvent:
    taken = Fields(value)
    config = taken.nested_or_none("config")
    registration = ReaderRegistrationEvent(
        subtask=taken.integer("subtask", low=0),
        owner=taken.text("owner", default=""),
        takeover=taken.boolean("takeover", default=False),
        attributes=taken.texts("attributes"),
        config=None if config is None else _config(config),
        ceiling=taken.integer_or_none("ceiling"),
        configured_at=taken.integer_or_none("configured_at", low=1),
    )
    taken.finish()
    return registration


def alignment_to_json(alignment: WatermarkAlignmentEvent) -> Json:
    out: Json = {
        "group": alignment.group,
        "revision": alignment.revision,
        "group_watermark": alignment.group_watermark,
        "max_desired_watermark": alignment.max_desired_watermark,
        "would_be": alignment.would_be,
        "config_version": alignment.config_version,
        "blocked_by": [_blocker_to_json(held) for held in alignment.blocked_by],
        "paused_sources": [pause_to_json(each) for each in alignment.paused_sources] or None,
    }
    return _present(out)


def alignment_from_json(value: object) -> WatermarkAlignmentEvent:
    taken = Fields(value)
    alignment = alignment_from_fields(taken)
    taken.finish()
    return alignment


def answer_to_json(answer: RegistrationAnswer) -> Json:
    return {
        "subtask": answer.subtask,
        "epoch": answer.epoch,
        "lease_ms": answer.lease_ms,
        "update_interval_ms": answer.update_interval_ms,
        "alignment": alignment_to_json(answer.alignment),
    }


def answer_from_json(value: object) -> RegistrationAnswer:
    taken = Fields(value)
    answer = RegistrationAnswer(
        subtask=taken.integer("subtask", low=0),
        epoch=taken.integer("epoch", low=1),
        lease_ms=taken.integer("lease_ms", low=1),
        update_interval_ms=taken.integer("update_interval_ms", low=1),
        alignment=alignment_from_fields(taken.nested("alignment")),
    )
    taken.finish()
    return answer


def _config(taken: Fields) -> GroupConfig:
    """Return the configuration, or the default where there are faults: `GroupConfig` itself would
    raise for one fault alone. The caller's `finish` raises for all.
    """
    default = GroupConfig()
    numbers = {
        key: taken.integer(key, default=getattr(default, key), low=floor) for key, floor in CONFIG_FLOORS.items()
    }
    max_wait_ms = taken.integer_or_none("max_wait_ms", low=MAX_WAIT_FLOOR)
    on_lost_reader = taken.choice("on_lost_reader", OnLostReader, default=default.on_lost_reader)
    mode = taken.choice("mode", Mode, default=default.mode)
    catch_up = taken.choice("catch_up", CatchUp, default=default.catch_up)
    expected_sources = taken.names("expected_sources", default=default.expected_sources)
    on_max_wait = taken.choice("on_max_wait", OnMaxWait, default=default.on_max_wait)
    taken.refuse_others()
    if taken.faulty:
        return default
    return GroupConfig(
        **numbers,
        on_lost_reader=on_lost_reader,
        mode=mode,
        catch_up=catch_up,
        expected_sources=expected_sources,
        max_wait_ms=max_wait_ms,
        on_max_wait=on_max_wait,
    )


def report_from_fields(taken: Fields) -> Steps[ReportedWatermarkEvent]:
    """Decode a report inside another message, which collects its faults."""
    return ReportedWatermarkEvent(
        subtask=taken.integer("subtask", low=0),
        epoch=taken.integer("epoch", low=1),
        watermark=taken.integer("watermark"),
        idle=taken.boolean("idle", default=False),
        finished=taken.boolean("finished", default=False),
        reach=taken.integer_or_none("reach"),
        batch_id=taken.integer_or_none("batch_id", low=0),
        park_ms=taken.integer_or_none("park_ms", low=1),
        facts=facts_of(taken.nested_or_none("facts")),
        splits=(yield from _splits(taken)),
    )


_STATES = {state.value: state for state in SplitState}


def _splits(taken: Fields) -> Steps[dict[str, SplitReport]]:
    """Return the splits of a report, of which there may be thousands: where nothing is wrong,
    without a `Fields` for each.
    """
    splits = dict[str, SplitReport]()
    for name, value in taken.by_name("splits").items():
        taken.check_name("splits", name)
        splits[name] = _plain_split(value) or _split(taken.nested_in("splits", name, value))
        if not len(splits) % AT_ONCE:
            yield
    return splits


def _plain_split(value: object) -> SplitReport | None:
    """Return the split, or None if a field is wrong."""
    if type(value) is not dict:
        return None
    watermark, state = value.get("watermark"), value.get("state")
    position, end, rows = value.get("position"), value.get("end"), value.get("rows")
    if type(watermark) is not int or not MIN <= watermark <= MAX or type(state) is not str or state not in _STATES:
        return None
    if any(number is not None and (type(number) is not int or not MIN <= number <= MAX) for number in (position, end)):
        return None
    if rows is not None and (type(rows) is not int or not 0 <= rows <= MAX):
        return None
    return SplitReport(watermark=watermark, state=_STATES[state], position=position, end=end, rows=rows)


def _split(taken: Fields) -> SplitReport:
    return SplitReport(
        watermark=taken.integer("watermark"),
        state=taken.choice("state", SplitState),
        position=taken.integer_or_none("position"),
        end=taken.integer_or_none("end"),
        rows=taken.integer_or_none("rows", low=0),
    )


def _plain_progress(value: object) -> SplitProgress | None:
    """Return a split's progress, or None if a field is wrong."""
    if type(value) is not dict:
        return None
    watermark, position, rows = value.get("watermark"), value.get("position"), value.get("rows")
    if type(watermark) is not int or type(position) is not int or type(rows) is not int:
        return None
    if not MIN <= watermark <= MAX or not 0 <= position <= MAX or not 0 <= rows <= MAX:
        return None
    return SplitProgress(watermark=watermark, position=position, rows=rows)


def _progress_of(taken: Fields) -> SplitProgress:
    return SplitProgress(
        watermark=taken.integer("watermark"),
        position=taken.integer("position", low=0),
        rows=taken.integer("rows", low=0),
    )


def alignment_from_fields(taken: Fields) -> WatermarkAlignmentEvent:
    """Return an event inside another message."""
    return WatermarkAlignmentEvent(
        group=taken.name("group"),
        revision=taken.integer("revision", low=0),
        group_watermark=taken.integer("group_watermark"),
        max_desired_watermark=taken.integer("max_desired_watermark"),
        blocked_by=tuple(
            _blocker(taken.inside("blocked_by", index, item)) for index, item in enumerate(taken.objects("blocked_by"))
        ),
        would_be=taken.integer_or_none("would_be"),
        config_version=taken.integer_or_none("config_version", low=0),
        paused_sources=pauses_from_json(taken),
    )


def _blocker_to_json(held: Blocker) -> Json:
    out: Json = {"source": held.source, "subtask": held.subtask, "watermark": held.watermark}
    return out if held.split is None else {**out, "split": held.split}


def _blocker(taken: Fields) -> Blocker:
    return Blocker(
        source=taken.name("source"),
        subtask=taken.integer("subtask", low=0),
        watermark=taken.integer("watermark"),
        split=taken.name_or_none("split"),
    )


def _present(values: Json) -> Json:
    return {key: value for key, value in values.items() if value is not None}
