import pytest

from lockgate.watermark import MAX, MIN
from lockgate_coordinator.operate.words import dated, moment, span, who_holds


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (None, "–"),
        (0, "0s"),
        (40, "40ms"),
        (3_210, "3.2s"),
        (59_999, "59s"),
        (200_000, "3m20s"),
        (7_500_000, "2h05m"),
        (97 * 3_600_000, "4d01h"),
        (-61_000, "-1m01s"),
    ],
)
def test_a_span_has_its_two_greatest_units(ms: int | None, text: str) -> None:
    assert span(ms) == text


def test_the_ends_of_time_have_words_and_a_date_its_age() -> None:
    assert (moment(MIN), moment(MAX), moment(MAX, "unbounded")) == ("none yet", "–", "unbounded")
    assert (dated(MIN, 0), dated(MAX, 0)) == ("none yet", "unbounded")
    assert dated(0, 200_000) == "1970-01-01T00:00:00.000Z (3m20s ago)"
    assert dated(200_000, 0) == "1970-01-01T00:03:20.000Z (in 3m20s)"


def test_some_of_many_readers_that_hold_a_group_are_named() -> None:
    held = [{"source": "s", "subtask": subtask, "watermark": 0} for subtask in range(8)]
    event = {"held_by": held, "group_watermark": 0, "max_desired_watermark": MAX, "would_be": 1_000}
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
        event = {"held_by": [], "group_watermark": watermark, "max_desired_watermark": MAX}
        assert reason in who_holds({"waiting_for": [], "config": {"mode": "enforce"}, "alignment": event})
