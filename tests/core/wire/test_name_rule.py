"""One rule says what a name is, in every message: a name in a path is never a step of the path."""

import re
from posixpath import normpath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lockgate.errors import InvalidMessage, InvalidValue
from lockgate.wire.codec import from_json
from lockgate.wire.events import (
    GroupConfig,
    ProgressEvent,
    ReaderRegistrationEvent,
    ReportBatch,
    ReportedWatermarkEvent,
)
from lockgate.wire.fields import NAME

LETTERS = st.text(st.sampled_from("aZ09._:-"), max_size=258)
STEPS = (".", "..")


@given(LETTERS | st.text(max_size=5))
@example(".")
@example("..")
@example("...")
@example("..a")
@example("a\n")
def test_a_name_is_any_path_segment_of_the_letters(text: str) -> None:
    allowed = re.fullmatch(r"[A-Za-z0-9._:-]{1,255}", text) is not None
    assert bool(NAME.match(text)) == (allowed and normpath(f"/groups/{text}") == f"/groups/{text}")


@pytest.mark.parametrize("name", STEPS)
def test_a_step_of_a_path_is_no_name_in_any_message(name: str) -> None:
    report = {"subtask": 0, "epoch": 1, "watermark": 0}
    split = {"watermark": 0, "state": "active"}
    progress = {"subtask": 0, "epoch": 1, "batch_id": 0, "attempt": 0, "splits": {name: {}}}
    for kind, body in (
        (ReportedWatermarkEvent, {**report, "splits": {name: split}}),
        (ReportedWatermarkEvent, {**report, "facts": {"retention_split": name}}),
        (ProgressEvent, progress),
        (GroupConfig, {"expected_sources": [name]}),
        (ReaderRegistrationEvent, {"subtask": 0, "config": {"expected_sources": [name]}}),
        (ReportBatch, {"reports": [{**report, "source": name}]}),
    ):
        with pytest.raises(InvalidMessage, match=r"neither \. nor \.\."):
            from_json(kind, body)
    with pytest.raises(InvalidValue):
        GroupConfig(expected_sources=(name,))
