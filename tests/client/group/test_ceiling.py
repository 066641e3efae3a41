"""The ceiling's rule, without a network: which events count, and which ones only make the query
report.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.watermark import MAX, MIN
from lockgate.wire.events import SourcePause
from lockgate.wire.events import WatermarkAlignmentEvent as Event
from lockgate_http.group.ceiling import Ceiling

TOLERANCE_S = 10.0
VERSION = 7


def event(revision: int, ceiling: int, version: int | None = VERSION, lowest: int = 0) -> Event:
    return Event(
        group="g", revision=revision, group_watermark=lowest, max_desired_watermark=ceiling, config_version=version
    )


def answered(revision: int, ceiling: int, version: int | None = VERSION) -> Ceiling:
    """Return a query whose report of second 0 was answered so."""
    made = Ceiling("a")
    made.asks()
    made.answered(event(revision, ceiling, version), asked_at=0.0)
    return made


def test_before_the_first_answer_the_ceiling_is_min_and_no_news_count() -> None:
    ceiling = Ceiling("a")
    assert not ceiling.on_event(event(5, 1_000), now=0.0, tolerance_s=TOLERANCE_S)
    assert (ceiling.value, ceiling.event) == (MIN, None)


def test_answered_ceiling_has_its_age_from_when_the_report_was_sent() -> None:
    ceiling = answered(5, 1_000)
    assert (ceiling.value, ceiling.version, ceiling.answered_at) == (1_000, VERSION, 0.0)


def test_higher_news_of_the_same_configuration_count_while_the_last_answer_is_young() -> None:
    ceiling = answered(5, 1_000)
    assert not ceiling.on_event(event(6, 2_000), now=TOLERANCE_S - 0.1, tolerance_s=TOLERANCE_S)
    assert ceiling.value == 2_000


@pytest.mark.parametrize(
    ("version", "now"),
    [(VERSION, TOLERANCE_S), (VERSION + 1, 0.0), (None, 0.0)],
    ids=["the last answer is too old", "the group was made anew", "the coordinator announces no version"],
)
def test_untrusted_news_make_the_query_report_and_lower_the_ceiling_alone(version: int | None, now: float) -> None:
    ceiling = answered(5, 1_000)
    assert ceiling.on_event(event(6, 2_000, version), now, TOLERANCE_S)
    assert ceiling.value == 1_000
    assert ceiling.on_event(event(7, 500, version), now, TOLERANCE_S)
    assert ceiling.value == 500


def test_higher_news_that_were_made_without_this_query_only_make_it_report() -> None:
    ceiling = answered(5, 1_000)
    ceiling.asks(lowest=700)
    assert ceiling.on_event(event(6, MAX, lowest=MAX), now=0.0, tolerance_s=TOLERANCE_S)
    assert ceiling.on_event(event(7, 1_701, lowest=701), now=0.0, tolerance_s=TOLERANCE_S)
    assert ceiling.value == 1_000
    assert not ceiling.on_event(event(8, 1_700, lowest=700), now=0.0, tolerance_s=TOLERANCE_S)
    assert ceiling.value == 1_700


def test_news_without_version_are_not_trusted_after_such_an_answer() -> None:
    ceiling = answered(5, 1_000, version=None)
    assert ceiling.on_event(event(6, 2_000, version=None), now=0.0, tolerance_s=TOLERANCE_S)
    assert ceiling.value == 1_000


@pytest.mark.parametrize("revision", [4, 5])
def test_news_that_are_no_newer_are_passed_over(revision: int) -> None:
    ceiling = answered(5, 1_000)
    assert not ceiling.on_event(event(revision, 500), now=0.0, tolerance_s=TOLERANCE_S)
    assert ceiling.value == 1_000


def test_news_that_overtake_an_answer_stay_the_ceiling() -> None:
    ceiling = answered(5, 1_000)
    ceiling.asks()
    ceiling.on_event(event(7, 500), now=1.0, tolerance_s=TOLERANCE_S)
    ceiling.answered(event(6, 2_000), asked_at=1.0)
    assert (ceiling.value, ceiling.answered_at) == (500, 1.0)


@pytest.mark.parametrize(("answer", "value"), [(2_000, 500), (500, 500), (300, 300)])
def test_answer_that_news_overtook_only_lowers_the_ceiling(answer: int, value: int) -> None:
    ceiling = answered(5, 1_000)
    ceiling.asks()
    ceiling.on_event(event(7, 500), now=1.0, tolerance_s=TOLERANCE_S)
    # of a history that a failover has lost: the group's next event has revision 8
    ceiling.answered(event(9, answer), asked_at=1.0)
    assert ceiling.value == value
    ceiling.on_event(event(8, 400), now=1.0, tolerance_s=TOLERANCE_S)
    assert ceiling.value == min(value, 400)
    ceiling.asks()
    ceiling.answered(event(8, 2_000), asked_at=2.0)
    assert ceiling.value == 2_000


def test_answer_of_a_lower_revision_counts_unless_news_came_since() -> None:
    ceiling = answered(5, 1_000)
    ceiling.on_event(event(7, 500), now=1.0, tolerance_s=TOLERANCE_S)
    ceiling.asks()
    # the coordinator lost its memory, and counts from the beginning
    ceiling.answered(event(1, 800, VERSION + 1), asked_at=2.0)
    assert (ceiling.value, ceiling.version) == (800, VERSION + 1)


news = st.builds(event, st.integers(1, 20), st.integers(-5_000, 5_000), st.sampled_from([None, VERSION, VERSION + 1]))


@given(st.lists(st.tuples(news, st.floats(0, 2 * TOLERANCE_S))))
def test_no_sequence_of_news_lifts_the_ceiling_above_the_trusted_events(heard: list[tuple[Event, float]]) -> None:
    ceiling, highest = answered(5, 1_000), 1_000
    for each, now in heard:
        if now < TOLERANCE_S and each.config_version == VERSION:
            highest = max(highest, each.max_desired_watermark)
        ceiling.on_event(each, now, TOLERANCE_S)
        assert ceiling.value <= highest


@given(st.lists(st.tuples(news, st.floats(0, 2 * TOLERANCE_S))))
def test_news_that_need_no_report_leave_the_newest_event(heard: list[tuple[Event, float]]) -> None:
    ceiling = answered(5, 1_000)
    for each, now in heard:
        if not ceiling.on_event(each, now, TOLERANCE_S):
            assert ceiling.event is not None
            assert each.revision <= ceiling.event.revision


def test_pause_of_the_own_source_alone_is_a_ceiling_of_min() -> None:
    ceiling, pause = answered(5, 1_000), SourcePause(source="a", at=3)
    ceiling.on_event(replace(event(6, 1_000), paused_sources=(replace(pause, source="b"),)), 0.0, TOLERANCE_S)
    assert (ceiling.value, ceiling.paused) == (1_000, None)
    ceiling.on_event(replace(event(7, 1_000), paused_sources=(pause,)), 0.0, TOLERANCE_S)
    assert (ceiling.value, ceiling.paused) == (MIN, pause)
    ceiling.on_event(event(8, 1_000), 0.0, TOLERANCE_S)
    assert (ceiling.value, ceiling.paused) == (1_000, None)


def test_pause_after_an_old_answer_counts_until_the_next_answer() -> None:
    ceiling, late = answered(5, 1_000), TOLERANCE_S + 1
    paused = replace(event(6, 2_000), paused_sources=(SourcePause(source="a", at=3),))
    assert ceiling.on_event(paused, late, TOLERANCE_S)
    assert ceiling.value == MIN
    assert ceiling.on_event(event(7, 2_000), late, TOLERANCE_S)
    assert ceiling.value == MIN
