"""A message's JSON has every field of the message: a new one too.

Each message here has a value that is not the default in each field. So a new field has to be added
here, and then the codec has to write and read it.
"""

import json
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from typing import Any

import pytest

from lockgate.wire import codec
from lockgate.wire.events import (
    Blocker,
    CatchUp,
    GroupConfig,
    Mode,
    OnLostReader,
    OnMaxWait,
    ProgressEvent,
    ReaderFacts,
    ReaderRegistrationEvent,
    RegistrationAnswer,
    ReportedWatermarkEvent,
    SourcePause,
    SplitProgress,
    SplitReport,
    SplitState,
    WatermarkAlignmentEvent,
)

CONFIG = GroupConfig(
    max_drift_ms=1_001,
    update_interval_ms=1_002,
    lease_ms=1_003,
    on_lost_reader=OnLostReader.HOLD,
    mode=Mode.OBSERVE,
    catch_up=CatchUp.STRICT,
    expected_sources=("a", "b"),
    max_wait_ms=1_004,
    on_max_wait=OnMaxWait.PROCEED,
)
SPLIT = SplitReport(watermark=1, state=SplitState.PAUSED, position=2, end=3, rows=4)
FACTS = ReaderFacts(
    late_rows=1, rows_saved=2, retained_until=3, retention_split="a-0", producer_lag_ms=4, event_time_rate=5
)
REPORT = ReportedWatermarkEvent(
    subtask=1,
    epoch=2,
    watermark=3,
    idle=True,
    finished=True,
    reach=4,
    batch_id=5,
    park_ms=6,
    facts=FACTS,
    splits={"a-0": SPLIT},
)
SPLIT_PROGRESS = SplitProgress(watermark=1, position=2, rows=3)
PROGRESS = ProgressEvent(subtask=1, epoch=2, batch_id=3, attempt=4, splits={"a-0": SPLIT_PROGRESS})
REGISTRATION = ReaderRegistrationEvent(
    subtask=1, owner="me", takeover=True, attributes={"host": "h"}, config=CONFIG, ceiling=2, configured_at=3
)
BLOCKED_BY = Blocker(source="a", subtask=1, watermark=2, split="a-0")
PAUSE = SourcePause(source="a", at=1, by="ops", reason="the sink is away")
ALIGNMENT = WatermarkAlignmentEvent(
    group="g",
    revision=1,
    group_watermark=2,
    max_desired_watermark=3,
    blocked_by=(BLOCKED_BY,),
    would_be=4,
    config_version=5,
    paused_sources=(PAUSE,),
)
ANSWER = RegistrationAnswer(subtask=1, epoch=2, lease_ms=3, update_interval_ms=4, alignment=ALIGNMENT)

MESSAGES: list[tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]] = [
    (CONFIG, codec.config_to_json, codec.config_from_json),
    (REPORT, codec.report_to_json, codec.report_from_json),
    (PROGRESS, codec.progress_to_json, codec.progress_from_json),
    (REGISTRATION, codec.registration_to_json, codec.registration_from_json),
    (ALIGNMENT, codec.alignment_to_json, codec.alignment_from_json),
    (ANSWER, codec.answer_to_json, codec.answer_from_json),
]


def _default(each: Field[Any]) -> Any:
    return each.default if each.default_factory is MISSING else each.default_factory()


@pytest.mark.parametrize(
    "message",
    [CONFIG, SPLIT, FACTS, REPORT, SPLIT_PROGRESS, PROGRESS, REGISTRATION, BLOCKED_BY, ALIGNMENT, ANSWER],
    ids=lambda message: type(message).__name__,
)
def test_the_messages_of_this_file_have_no_field_at_its_default(message: Any) -> None:
    assert [each.name for each in fields(message) if getattr(message, each.name) == _default(each)] == []


@pytest.mark.parametrize(("message", "out", "back"), MESSAGES, ids=[type(each[0]).__name__ for each in MESSAGES])
def test_a_message_comes_back_with_every_field(
    message: Any, out: Callable[[Any], Any], back: Callable[[Any], Any]
) -> None:
    assert back(json.loads(json.dumps(out(message)))) == message
