"""The wire events of splits as JSON-able dicts, as `codec` does it for all others.

A split is Flink's bytes in base64. Its topic must be a name, and so must its id. A reader may have
thousands of splits: `…_in_steps` reads them with pauses after each `steps.AT_ONCE`. All functions
`…_from_json` raise `InvalidMessage`, which carries the faults.

Used by the coordinator's API and by readers that are not Spark.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from lockgate.errors import InvalidValue
from lockgate.flink.split_serializer import KafkaPartitionSplitSerializer
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.steps import AT_ONCE, Steps, at_once, for_each
from lockgate.wire.codec import alignment_from_fields, alignment_to_json, report_from_fields, report_to_json
from lockgate.wire.events import NAME, NAME_RULE
from lockgate.wire.fields import Fields, Json
from lockgate.wire.split_events import (
    CAPACITY_LIMIT,
    SOURCE_EVENT_SIZE,
    SOURCE_EVENTS_KEPT,
    DiscoveredSplits,
    NumberedSourceEvent,
    NumberedSplit,
    SourceEvent,
    SourceEventToReaders,
    SplitAnswer,
    SplitExchange,
    StoppedSplit,
)

SERIALIZER = KafkaPartitionSplitSerializer()
"""Whose bytes a split is on the wire."""

ID_LIMIT = 255
"""The most characters of a SourceEvent's id."""

SOURCE_EVENT_DEPTH = 32
"""The most objects and lists within each other in a SourceEvent. Parsers give up at some depth."""


def split_to_text(split: KafkaPartitionSplit) -> str:
    """Return the split's bytes in base64."""
    return b64encode(SERIALIZER.serialize(split)).decode()


def split_from_text(text: object) -> KafkaPartitionSplit:
    """Return the split. Raises `InvalidValue` for anything that is no split of a named topic."""
    if type(text) is not str:
        raise InvalidValue("split", "must be a split's bytes in base64")
    try:
        data = b64decode(text, validate=True)
    except ValueError as error:
        raise InvalidValue("split", f"must be base64: {error}") from error
    split = SERIALIZER.deserialize(SERIALIZER.version, data)
    if not NAME.match(split.topic) or not NAME.match(split.split_id):
        raise InvalidValue("topic", f"of a split {NAME_RULE}, with its partition")
    if split.partition < 0:
        raise InvalidValue("partition", "of a split must be 0 or more")
    return split


def exchange_to_json(exchange: SplitExchange) -> Json:
    """Return what is as by default is left out, but `held`."""
    discovered = exchange.discovered
    optional: Json = {
        "given_back": [_assigned_to_json(each) for each in exchange.given_back],
        "finished": [_assigned_to_json(each) for each in exchange.finished],
        "request_split": exchange.request_split,
        "discovery_interval_ms": exchange.discovery_interval_ms,
        "discovered": None if discovered is None else discovered_to_json(discovered),
        "seen": exchange.seen,
        "is_processing_backlog": exchange.is_processing_backlog,
        "source_events": [{"id": each.id, "event": dict(each.event)} for each in exchange.source_events],
        "source_events_seen": exchange.source_events_seen,
        "report": None if exchange.report is None else report_to_json(exchange.report),
    }
    return {
        "epoch": exchange.epoch,
        "capacity": exchange.capacity,
        "held": [_assigned_to_json(each) for each in exchange.held],
        # 0 and False are equal, and an interval of 0 is no default.
        **{key: value for key, value in optional.items() if value or (key == "discovery_interval_ms" and value == 0)},
    }


def exchange_from_json(value: object, subtask: int) -> SplitExchange:
    return at_once(exchange_in_steps(value, subtask))


def exchange_in_steps(value: object, subtask: int) -> Steps[SplitExchange]:
    """Return the exchange of reader `subtask`. A report in it must be of the same reader."""
    taken = Fields(value)
    _check_version(taken)
    epoch = taken.integer("epoch", low=1)
    held = yield from _assigned(taken, "held", required=True)
    given_back = yield from _assigned(taken, "given_back")
    finished = yield from _assigned(taken, "finished")
    found = taken.nested_or_none("discovered")
    discovered = None if found is None else (yield from _discovered(found, found.integer("request", low=0)))
    told = taken.nested_or_none("report")
    report = None if told is None else (yield from report_from_fields(told))
    if told is not None and report is not None and (report.subtask, report.epoch) != (subtask, epoch):
        told.fault("subtask", f"and epoch must be those of the exchange, {subtask} and {epoch}")
    exchange = SplitExchange(
        epoch=epoch,
        held=held,
        given_back=given_back,
        finished=finished,
        capacity=taken.integer("capacity", default=1, low=0, high=CAPACITY_LIMIT),
        request_split=taken.boolean("request_split", default=False),
        discovery_interval_ms=taken.integer_or_none("discovery_interval_ms", low=0),
        discovered=discovered,
        seen=taken.integer_or_none("seen", low=0),
        is_processing_backlog=taken.boolean("is_processing_backlog", default=False),
        source_events=_source_events(taken),
        source_events_seen=taken.integer("source_events_seen", default=0, low=0),
        report=report,
    )
    taken.finish()
    return exchange


def answer_to_json(answer: SplitAnswer) -> Json:
    return at_once(answer_in_steps(answer))


def answer_in_steps(answer: SplitAnswer) -> Steps[Json]:
    """All fields are there, those without content too."""
    added = yield from assigned_in_steps(answer.add_splits)
    return {
        "group": answer.group,
        "source": answer.source,
        "subtask": answer.subtask,
        "epoch": answer.epoch,
        "revision": answer.revision,
        "serializer_version": SERIALIZER.version,
        "add_splits": added,
        "give_back": list(answer.give_back),
        "stop": [{"split": each.split, "assignment": each.assignment} for each in answer.stop],
        "no_more_splits": answer.no_more_splits,
        "discover": answer.discover,
        "is_processing_backlog": answer.is_processing_backlog,
        "source_events": [numbered_to_json(each) for each in answer.source_events],
        "assigning_in_ms": answer.assigning_in_ms,
        "lease_ms": answer.lease_ms,
        "update_interval_ms": answer.update_interval_ms,
        "alignment": alignment_to_json(answer.alignment),
    }


def answer_from_json(value: object) -> SplitAnswer:
    taken = Fields(value)
    _check_version(taken)
    answer = SplitAnswer(
        group=taken.name("group"),
        source=taken.name("source"),
        subtask=taken.integer("subtask", low=0),
        epoch=taken.integer("epoch", low=1),
        revision=taken.integer("revision", low=0),
        lease_ms=taken.integer("lease_ms", low=1),
        update_interval_ms=taken.integer("update_interval_ms", low=1),
        alignment=alignment_from_fields(taken.nested("alignment")),
        add_splits=at_once(_assigned(taken, "add_splits", required=True)),
        give_back=taken.names("give_back", default=()),
        stop=_stopped(taken),
        no_more_splits=taken.boolean("no_more_splits", default=False),
        discover=taken.integer_or_none("discover", low=0),
        is_processing_backlog=taken.boolean("is_processing_backlog", default=False),
        source_events=_numbered(taken),
        assigning_in_ms=taken.integer("assigning_in_ms", default=0, low=0),
    )
    taken.finish()
    return answer


def discovered_to_json(found: DiscoveredSplits) -> Json:
    request = {} if found.request is None else {"request": found.request}
    return {**request, "splits": [split_to_text(split) for split in found.splits], "bounded": found.bounded}


def discovered_in_steps(value: object) -> Steps[DiscoveredSplits]:
    """Return a static list, as a body of its own."""
    taken = Fields(value)
    _check_version(taken)
    found = yield from _discovered(taken)
    taken.refuse_others()
    taken.finish()
    return found


def source_event_from_json(value: object) -> SourceEventToReaders:
    """Return a SourceEvent to readers, as a body of its own."""
    taken = Fields(value)
    event = SourceEventToReaders(
        event=_event(taken),
        subtask=taken.integer_or_none("subtask", low=0),
        id=taken.text("id", default="", most=ID_LIMIT),
    )
    taken.refuse_others()
    taken.finish()
    return event


def assigned_in_steps(splits: Iterable[NumberedSplit]) -> Steps[list[Json]]:
    found = list[Json]()
    yield from for_each(splits, lambda each: found.append(_assigned_to_json(each)))
    return found


def numbered_to_json(event: NumberedSourceEvent) -> Json:
    return {"number": event.number, "event": dict(event.event)}


def _assigned_to_json(each: NumberedSplit) -> Json:
    out: Json = {"split": split_to_text(each.split), "assignment": each.assignment}
    return {**out, "restored": True} if each.restored else out


def _check_version(taken: Fields) -> None:
    taken.integer("serializer_version", default=SERIALIZER.version, low=0, high=SERIALIZER.version)


def _assigned(taken: Fields, key: str, *, required: bool = False) -> Steps[tuple[NumberedSplit, ...]]:
    """Return the splits of one list. None may be named twice."""
    found = dict[str, NumberedSplit]()
    for index, value in enumerate(taken.objects(key, required=required)):
        item = taken.inside(key, index, value)
        split = _split(item, "split", item.anything("split"))
        number = item.integer("assignment", low=1)
        restored = item.boolean("restored", default=False)
        if split is not None and split.split_id in found:
            item.fault("split", f"{split.split_id} is named twice")
        elif split is not None:
            found[split.split_id] = NumberedSplit(split=split, assignment=number, restored=restored)
        if not (index + 1) % AT_ONCE:
            yield
    return tuple(found.values())


def _discovered(taken: Fields, request: int | None = None) -> Steps[DiscoveredSplits]:
    found = dict[str, KafkaPartitionSplit]()
    for index, value in enumerate(taken.objects("splits")):
        split = _split(taken, f"splits[{index}]", value)
        if split is not None:
            found[split.split_id] = split
        if not (index + 1) % AT_ONCE:
            yield
    bounded = taken.boolean("bounded", default=False)
    return DiscoveredSplits(splits=tuple(found.values()), bounded=bounded, request=request)


def _split(taken: Fields, key: str, value: object) -> KafkaPartitionSplit | None:
    try:
        return split_from_text(value)
    except InvalidValue as error:
        taken.fault(key, str(error))
        return None


def _stopped(taken: Fields) -> tuple[StoppedSplit, ...]:
    items = [taken.inside("stop", index, item) for index, item in enumerate(taken.objects("stop", required=False))]
    return tuple(StoppedSplit(split=each.name("split"), assignment=each.integer("assignment")) for each in items)


def _numbered(taken: Fields) -> tuple[NumberedSourceEvent, ...]:
    items = taken.objects("source_events", required=False)
    events = [taken.inside("source_events", index, item) for index, item in enumerate(items)]
    return tuple(NumberedSourceEvent(number=each.integer("number", low=1), event=_event(each)) for each in events)


def _source_events(taken: Fields) -> tuple[SourceEvent, ...]:
    items = taken.objects("source_events", required=False, limit=SOURCE_EVENTS_KEPT)
    return tuple(_source_event(taken.inside("source_events", index, item)) for index, item in enumerate(items))


def _source_event(taken: Fields) -> SourceEvent:
    id = taken.text("id", default="", most=ID_LIMIT)
    if not id:
        taken.fault("id", "must not be missing or empty")
    return SourceEvent(id=id, event=_event(taken))


def _event(taken: Fields) -> Mapping[str, Any]:
    """Return the SourceEvent in the field `event`: an object that is not too large."""
    event = taken.anything("event")
    fault = _fault_of(event)
    if fault is not None:
        taken.fault("event", fault)
    return event if isinstance(event, dict) else {}


def check_source_event(event: object) -> None:
    """Raise `InvalidValue` where no coordinator would take this SourceEvent."""
    try:
        fault = _fault_of(event)
    except (TypeError, ValueError) as error:
        fault = f"must be an object as JSON has them ({error})"
    if fault is not None:
        raise InvalidValue("event", fault)


def _fault_of(event: object) -> str | None:
    if not isinstance(event, dict):
        return "must be an object"
    if _is_deeper(event, SOURCE_EVENT_DEPTH):
        return f"must have objects and lists within each other {SOURCE_EVENT_DEPTH} deep at most"
    try:
        size = len(json.dumps(event, separators=(",", ":"), allow_nan=False))
    except ValueError as error:  # such as a number beyond all floats, which Python reads as infinite
        return f"must be an object as JSON has them ({error})"
    return f"must have {SOURCE_EVENT_SIZE:,} bytes at most as JSON" if size > SOURCE_EVENT_SIZE else None


def _is_deeper(value: object, most: int) -> bool:
    """Return whether a value has more than `most` objects and lists within each other."""
    level: list[object] = [value]
    for _ in range(most + 1):
        inside = [each for each in level if isinstance(each, (dict, list, tuple))]
        level = [item for each in inside for item in (each.values() if isinstance(each, dict) else each)]
        if not inside:
            return False
    return True
