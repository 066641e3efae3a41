"""A group may expect very many sources. A report or a look goes through few of their names."""

from collections.abc import Iterator

from lockgate.group.alignment import BLOCKERS_LIMIT
from lockgate.group.group import Group, create
from lockgate.watermark import MIN
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent
from support.turns import decide, evaluate, register, report_all

EXPECTED = 2_000


class Names(tuple[str, ...]):
    """Names that count how many of them were looked at, one after the other."""

    looked_at = 0

    def __iter__(self) -> Iterator[str]:
        for name in super().__iter__():
            Names.looked_at += 1
            yield name


def reported(group: Group, sources: range, watermark: int) -> Group:
    reports = [
        (str(number), ReportedWatermarkEvent(subtask=0, epoch=group.readers[str(number), 0].epoch, watermark=watermark))
        for number in sources
    ]
    group, refusals = report_all(group, reports, 0)
    assert not refusals
    return evaluate(group, 0)[0]


def expecting_many() -> Group:
    group = create("g", GroupConfig(expected_sources=Names(str(number) for number in range(EXPECTED))), 0)
    for number in range(EXPECTED):
        group = register(group, str(number), ReaderRegistrationEvent(subtask=0), 0)
    Names.looked_at = 0
    return group


def test_group_that_waits_for_many_sources_names_the_first() -> None:
    group = expecting_many()
    decision = decide(group, 0)
    assert decision.waiting_for == tuple(str(number) for number in range(BLOCKERS_LIMIT))
    assert Names.looked_at <= BLOCKERS_LIMIT + 1
    assert evaluate(group, 0)[1].group_watermark == MIN


def test_a_report_looks_at_no_expected_source_once_all_have_reported() -> None:
    group = reported(expecting_many(), range(EXPECTED), 5)
    assert group.group_watermark == 5
    Names.looked_at = 0
    group = reported(group, range(1), 6)
    assert Names.looked_at == 0
    assert group.sources_missing == ()


def test_the_group_starts_with_the_last_expected_source_and_not_before() -> None:
    group = reported(expecting_many(), range(EXPECTED - 1), 5)
    assert (group.sources_missing, group.group_watermark) == ((str(EXPECTED - 1),), MIN)
    group = reported(group, range(EXPECTED - 1, EXPECTED), 7)
    assert (group.sources_missing, group.group_watermark) == ((), 5)


def test_a_name_that_is_expected_twice_is_seen_once() -> None:
    group = create("g", GroupConfig(expected_sources=("0", "0", "1")), 0)
    for number in range(2):
        group = register(group, str(number), ReaderRegistrationEvent(subtask=0), 0)
        assert group.sources_missing
        group = reported(group, range(number, number + 1), 5)
    assert (group.sources_missing, group.group_watermark) == ((), 5)
