from lockgate.group.group import create, replace_config, tick
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import GroupConfig, Mode, ReaderRegistrationEvent, ReportedWatermarkEvent
from support.turns import evict, leave, register, report

NOW = 1_000_000
FIRST = ReaderRegistrationEvent(subtask=0)


def test_a_tick_is_the_clock_or_one_more_than_the_previous() -> None:
    assert [tick(5, 4), tick(5, 5), tick(5, 6), tick(5, 7)] == [6, 6, 6, 7]


def test_a_new_group_has_no_watermark_and_no_ceiling() -> None:
    group = create("g", GroupConfig(), NOW)
    assert (group.revision, group.group_watermark, group.max_desired_watermark) == (NOW, MIN, MAX)


def test_new_group_with_expected_sources_holds_all_unless_observing() -> None:
    assert create("g", GroupConfig(expected_sources=("a",)), NOW).max_desired_watermark == MIN
    assert create("g", GroupConfig(expected_sources=("a",), mode=Mode.OBSERVE), NOW).max_desired_watermark == MAX


def test_successor_begins_above_predecessor_while_clock_stands_still() -> None:
    group = register(create("g", GroupConfig(), NOW), "a", FIRST, NOW)
    successor = create("g", GroupConfig(), NOW, floor=group.high_water)
    assert successor.revision > group.revision
    assert register(successor, "a", FIRST, NOW).readers["a", 0].epoch > group.readers["a", 0].epoch


def test_epochs_go_on_rising_over_a_reader_that_left_or_was_evicted() -> None:
    group = register(create("g", GroupConfig(), NOW), "a", FIRST, NOW)
    left = register(leave(group, "a", 0, NOW, NOW), "a", FIRST, NOW)
    assert left.readers["a", 0].epoch == NOW + 1
    assert register(evict(left, "a", 0), "a", FIRST, NOW).readers["a", 0].epoch == NOW + 2


def test_new_configuration_has_new_version_while_clock_stands_still() -> None:
    group = create("g", GroupConfig(), NOW)
    assert replace_config(group, GroupConfig(lease_ms=100), NOW).config_version == group.config_version + 1


def test_reported_source_is_not_waited_for_once_it_is_expected() -> None:
    group = register(create("g", GroupConfig(), NOW), "a", FIRST, NOW)
    group = report(group, "a", ReportedWatermarkEvent(subtask=0, epoch=NOW, watermark=1), NOW)
    assert replace_config(group, GroupConfig(expected_sources=("a", "b")), NOW).sources_missing == ("b",)
