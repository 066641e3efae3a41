"""Clients of the release before facts go on working: their exchanges, as they were recorded with
that release, are played to this service.

golden/before_facts.json is that record. It stays as it is: no exchange of a released client is
recorded anew.
"""

import json
from typing import Any

import pytest

from lockgate.wire import codec
from lockgate_coordinator.fast.switches import PLAIN, Fast
from protocol.golden.recording import FILE, recorded, steps_of
from protocol.golden.scenario import SCENARIO

BEFORE: list[dict[str, Any]] = json.loads(FILE.with_name("before_facts.json").read_text(encoding="utf-8"))
ADDED = {"facts"}
"""The fields of a report that a client of that release does not send."""


def lacks(old: Any, new: Any, path: str = "") -> list[str]:
    """What of an old answer a new one no longer says, by path. A new field is no fault."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [fault for key, value in old.items() for fault in lacks(value, new.get(key), f"{path}.{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [fault for at, value in enumerate(old) for fault in lacks(value, new[at], f"{path}[{at}]")]
    return [] if old == new else [f"{path}: {old!r} became {new!r}"]


@pytest.mark.parametrize("fast", [Fast(), PLAIN], ids=["fast", "plain"])
async def test_a_client_of_the_release_before_facts_is_answered_as_it_was(fast: Fast) -> None:
    answers = await recorded(steps_of(BEFORE), fast)
    assert len(answers) == len(BEFORE)
    assert [fault for was, is_now in zip(BEFORE, answers, strict=True) for fault in lacks(was, is_now)] == []


def test_an_exchange_that_was_recorded_is_the_step_that_it_came_from() -> None:
    now = json.loads(FILE.read_text(encoding="utf-8"))
    for step, again in zip(SCENARIO, steps_of(now), strict=True):
        assert again == step


def test_a_report_of_this_release_without_its_facts_is_one_of_the_release_before() -> None:
    bodies = [each.get("body") for each in json.loads(FILE.read_text(encoding="utf-8"))]
    (report,) = (body for body in bodies if body is not None and "facts" in body)
    plain = {key: value for key, value in report.items() if key not in ADDED}
    assert plain in [each.get("body") for each in BEFORE]
    before = codec.report_to_json(codec.report_from_json(plain))
    assert codec.report_to_json(codec.report_from_json(report)) == {**before, "facts": report["facts"]}
