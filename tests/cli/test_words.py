from typing import Any

import pytest

from lockgate.sentences import moment
from lockgate.watermark import MAX, MIN
from lockgate_cli.words import dated, distance, event_time_rate, rules


def group(drift_ms: int | None, **config: object) -> dict[str, Any]:
    return {
        "drift_ms": drift_ms,
        "config": {"max_drift_ms": 600_000, "catch_up": "strict", "mode": "enforce", **config},
    }


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (group(None), "not known yet; max_drift is 10 min"),
        (group(600_000), "the readers are 10 min apart; max_drift is 10 min"),
        (
            group(3_540_000),
            "the readers are 59 min apart, above the max_drift of 10 min. Readers above the read limit wait "
            "until the others are within 10 min",
        ),
        (
            group(3_540_000, catch_up="joint"),
            "the readers are 59 min apart, above the max_drift of 10 min. That is allowed (joint): during a "
            "backlog, a reader may read as far as all readers can get with their next batch. Readers above the "
            "read limit wait",
        ),
        (
            group(3_540_000, mode="observe"),
            "the readers are 59 min apart, above the max_drift of 10 min; in observe mode no reader waits",
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
        "catch up": "strict: no reader reads further than max_drift above the slowest one",
        "lost": "a reader that is silent for 30 s still counts, so the others wait (hold)",
        "long waits": "after 12 min 20 s of waiting a reader reads on, and the ones it waited for no longer count "
        "(proceed)",
    }


def test_the_ends_of_time_have_words_and_a_date_its_age() -> None:
    assert (moment(MIN), moment(MAX), moment(MAX, "unbounded")) == ("none yet", "–", "unbounded")
    assert (dated(MIN, 0), dated(MAX, 0)) == ("none yet", "unbounded")
    assert dated(0, 200_000) == "1970-01-01T00:00:00.000Z (3 min 20 s ago)"
    assert dated(200_000, 0) == "1970-01-01T00:03:20.000Z (in 3 min 20 s)"


@pytest.mark.parametrize(("ms", "shown"), [(0, "0×"), (1_500, "1.5×"), (14_000, "14×"), (1_286_400, "1,286×")])
def test_a_rate_is_a_multiple_of_the_clock_and_never_a_power_of_ten(ms: int, shown: str) -> None:
    assert event_time_rate(ms) == shown
