from typing import Any

import pytest

from lockgate.watermark import MAX, MIN
from lockgate_coordinator.operate.words import dated, distance, rules
from lockgate_coordinator.sentences import moment, who_holds


def group(drift_ms: int | None, **config: object) -> dict[str, Any]:
    return {
        "drift_ms": drift_ms,
        "config": {"max_drift_ms": 600_000, "catch_up": "strict", "mode": "enforce", **config},
    }


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (group(None), "not known yet; 10 min are allowed"),
        (group(600_000), "the readers are 10 min apart; 10 min are allowed"),
        (
            group(3_540_000),
            "the readers are 59 min apart, above the 10 min of max_drift. Readers above the ceiling wait, and those "
            "below it read on, until all are within 10 min",
        ),
        (
            group(3_540_000, catch_up="joint"),
            "the readers are 59 min apart, above the 10 min of max_drift. That is allowed (joint): while there is a "
            "backlog, a reader may go as far as all readers can reach with their next batch. Readers above the "
            "ceiling wait",
        ),
        (
            group(3_540_000, mode="observe"),
            "the readers are 59 min apart, above the 10 min of max_drift; mode observe holds nobody",
        ),
    ],
)
def test_a_distance_says_what_is_allowed_and_why(shown: dict[str, Any], text: str) -> None:
    assert distance(shown) == text


def test_rules_say_what_they_mean() -> None:
    config = {
        "mode": "enforce",
        "catch_up": "strict",
        "lease_ms": 30_000,
        "on_lost_reader": "hold",
        "max_wait_ms": 740_759,
        "on_max_wait": "proceed",
    }
    assert dict(rules(config)) == {
        "mode": "enforce",
        "catch up": "strict: no reader goes further than max_drift above the lowest one",
        "lost": "a reader that is silent for 30 s counts on, and holds the others (hold)",
        "long waits": "after 12 min 20 s of waiting a reader goes on, and the ones it waited for do not count "
        "(proceed)",
    }


def test_the_ends_of_time_have_words_and_a_date_its_age() -> None:
    assert (moment(MIN), moment(MAX), moment(MAX, "unbounded")) == ("none yet", "–", "unbounded")
    assert (dated(MIN, 0), dated(MAX, 0)) == ("none yet", "unbounded")
    assert dated(0, 200_000) == "1970-01-01T00:00:00.000Z (3 min 20 s ago)"
    assert dated(200_000, 0) == "1970-01-01T00:03:20.000Z (in 3 min 20 s)"


def test_some_of_many_readers_that_hold_a_group_are_named() -> None:
    held = [{"source": "s", "subtask": subtask, "watermark": 0} for subtask in range(8)]
    event = {"blocked_by": held, "group_watermark": 0, "max_desired_watermark": MAX, "would_be": 1_000}
    text = who_holds({"waiting_for": [], "config": {"mode": "observe"}, "alignment": event})
    assert text == (
        "The group would be held by reader s/0, reader s/1, reader s/2 and 5 more at 1970-01-01T00:00:00Z; "
        "nobody would go beyond 1970-01-01T00:00:01Z."
    )


def test_a_group_that_nobody_holds_says_why() -> None:
    for watermark, reason in (
        (MIN, "no reader has reported yet"),
        (MAX, "all readers are idle, finished, lost or gone"),
    ):
        event = {"blocked_by": [], "group_watermark": watermark, "max_desired_watermark": MAX}
        assert reason in who_holds({"waiting_for": [], "config": {"mode": "enforce"}, "alignment": event})
