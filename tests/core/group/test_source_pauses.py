"""An operator pauses a source (the rule: `lockgate.group.source_pauses`)."""

from dataclasses import replace

import pytest

from lockgate.errors import UnknownSource
from lockgate.group.group import Group, create
from lockgate.group.source_pauses import pause, resume
from lockgate.wire.events import GroupConfig, OnMaxWait, SourcePause
from support.turns import NOW, decide, evaluate, evict, reported

DRIFT, HOLD = 10, 500
CONFIG = GroupConfig(max_drift_ms=DRIFT, lease_ms=60_000)
NIGHT = SourcePause(source="a", at=NOW, by="ops", reason="the sink is away")


@pytest.fixture
def group() -> Group:
    """Source a stands at 5 and offers to reach 900, b stands at 8 and offers 1,000."""
    return reported(reported(create("g", CONFIG, NOW), "a", 5, reach=900), "b", 8, reach=1_000)


def test_pause_raises_revision_though_no_watermark_moves(group: Group) -> None:
    after, event = evaluate(pause(group, NIGHT, NOW), NOW)
    assert event.paused_sources == (NIGHT,)
    assert event.pause_of("a") == NIGHT
    assert event.pause_of("b") is None
    assert event.revision > group.revision
    assert evaluate(after, NOW)[1].revision == event.revision


def test_a_paused_source_holds_the_group_and_offers_nothing(group: Group) -> None:
    assert decide(group, NOW).ceiling == 900
    after = pause(group, NIGHT, NOW)
    assert (decide(after, NOW).group_watermark, decide(after, NOW).ceiling) == (5, 5 + DRIFT)
    assert decide(reported(after, "a", 5, reach=950), NOW).ceiling == 5 + DRIFT
    assert decide(reported(resume(after, "a", NOW), "a", 5, reach=950), NOW).ceiling == 950


def test_an_offer_of_another_source_stays(group: Group) -> None:
    after = reported(pause(group, NIGHT, NOW), "b", 9, reach=1_100)
    assert after.readers["b", 0].reported == replace(after.readers["b", 0].reported, reach=1_100)  # type: ignore[type-var]


def test_a_second_pause_changes_nothing_and_keeps_the_first_name(group: Group) -> None:
    paused = pause(group, NIGHT, NOW)
    assert pause(paused, replace(NIGHT, by="another", at=NOW + 1), NOW + 1) is paused


def test_resume_raises_revision_only_for_a_paused_source(group: Group) -> None:
    paused = pause(group, NIGHT, NOW)
    resumed = resume(paused, "a", NOW)
    assert resumed.paused_sources == ()
    assert resumed.revision > paused.revision
    assert resume(resumed, "a", NOW) is resumed


def test_a_pause_outlives_the_readers_of_its_source(group: Group) -> None:
    left = evict(pause(group, NIGHT, NOW), "a", 0)
    assert reported(left, "a", 1).pause_of("a") == NIGHT


def test_expected_source_may_be_paused_before_it_comes(group: Group) -> None:
    expecting = create("g", replace(CONFIG, expected_sources=("late",)), NOW)
    assert pause(expecting, replace(NIGHT, source="late"), NOW).pause_of("late") is not None
    with pytest.raises(UnknownSource, match="'late'"):
        pause(group, replace(NIGHT, source="late"), NOW)


def test_paused_sources_are_in_the_order_of_their_names(group: Group) -> None:
    both = pause(pause(group, replace(NIGHT, source="b"), NOW), NIGHT, NOW)
    assert [each.source for each in both.paused_sources] == ["a", "b"]


def test_others_pass_a_paused_source_only_where_the_group_lets_them(group: Group) -> None:
    config = replace(CONFIG, max_wait_ms=HOLD, on_max_wait=OnMaxWait.PROCEED)
    paused, _ = evaluate(pause(replace(group, config=config), NIGHT, NOW), NOW)
    waiting = reported(paused, "b", 5 + DRIFT)
    assert decide(waiting, NOW + HOLD - 1).group_watermark == 5
    assert decide(waiting, NOW + HOLD).group_watermark == 5 + DRIFT
