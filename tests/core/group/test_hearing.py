"""Time in which a process was deaf counts against no lease, wait or grace of a group."""

from dataclasses import replace
from random import Random

import pytest

from lockgate.errors import ReaderBusy
from lockgate.group.alignment import evaluate, next_deadline
from lockgate.group.commands import register, report
from lockgate.group.group import Group, create
from lockgate.group.hearing import ALWAYS, Hearing, Span
from lockgate.watermark import MAX
from lockgate.wire.events import CatchUp, GroupConfig, OnMaxWait, ReaderRegistrationEvent, ReportedWatermarkEvent

LEASE_MS = 3_000
NO_OUTAGE_MS = 600_000
"""An update interval so long that no silence is taken for an outage of all."""

CONFIG = GroupConfig(max_drift_ms=10, lease_ms=LEASE_MS, update_interval_ms=NO_OUTAGE_MS, catch_up=CatchUp.STRICT)


def joined(group: Group, source: str, watermark: int, now_ms: int, **registration: int) -> Group:
    group = register(group, source, ReaderRegistrationEvent(subtask=0, **registration), now_ms)
    return told(group, source, watermark, now_ms)


def told(group: Group, source: str, watermark: int, now_ms: int) -> Group:
    epoch = group.readers[source, 0].epoch
    return report(group, source, ReportedWatermarkEvent(subtask=0, epoch=epoch, watermark=watermark), now_ms)


def two_readers(config: GroupConfig = CONFIG) -> Group:
    """`slow` at 50 and `fast` at 1,000, both heard at 0."""
    return evaluate(joined(joined(create("g", config, 0), "slow", 50, 0), "fast", 1_000, 0), 0)[0]


def ceiling(group: Group, now_ms: int, hearing: Hearing) -> int:
    return evaluate(group, now_ms, hearing)[1].max_desired_watermark


def test_a_reader_whose_report_waits_while_the_process_is_deaf_goes_on_counting() -> None:
    deaf = Hearing(((1_000, 16_000),))
    group = told(two_readers(), "fast", 1_000, 16_001)  # the first one that is read afterwards
    assert ceiling(group, 16_001, ALWAYS) == 1_010
    assert ceiling(group, 16_001, deaf) == 60


def test_a_dead_reader_is_lost_after_one_lease_of_hearing() -> None:
    deaf = Hearing(((1_000, 16_000), (16_500, 17_000)))
    group = told(two_readers(), "fast", 1_000, 16_001)
    ends = LEASE_MS + 15_000 + 500
    assert next_deadline(group, 17_000, deaf) == ends
    assert (ceiling(group, ends - 1, deaf), ceiling(group, ends, deaf)) == (60, 1_010)


def test_a_reader_that_was_heard_after_the_deaf_span_has_no_longer_lease() -> None:
    group = told(told(two_readers(), "slow", 50, 5_000), "fast", 1_000, 7_900)
    deaf = Hearing(((1_000, 4_000),))
    assert (ceiling(group, 5_000 + LEASE_MS - 1, deaf), ceiling(group, 5_000 + LEASE_MS, deaf)) == (60, 1_010)


def test_a_reader_that_registers_after_a_deaf_span_keeps_its_report_and_its_owner() -> None:
    deaf, group = Hearing(((1_000, 16_000),)), two_readers()
    again = register(group, "slow", ReaderRegistrationEvent(subtask=0), 16_001, deaf)
    assert ceiling(again, 16_001, deaf) == 60
    with pytest.raises(ReaderBusy):
        register(group, "slow", ReaderRegistrationEvent(subtask=0, owner="another"), 16_001, deaf)


def test_a_parked_reader_keeps_its_place_while_the_process_is_deaf() -> None:
    group = two_readers()
    parks = ReportedWatermarkEvent(subtask=0, epoch=group.readers["slow", 0].epoch, watermark=50, park_ms=10_000)
    group = told(report(group, "slow", parks, 0), "fast", 1_000, 12_001)
    assert (ceiling(group, 12_001, ALWAYS), ceiling(group, 12_001, Hearing(((9_000, 12_000),)))) == (1_010, 60)


def test_a_wait_is_no_longer_by_the_time_in_which_the_process_was_deaf() -> None:
    config = replace(CONFIG, max_wait_ms=2_000, on_max_wait=OnMaxWait.PROCEED, lease_ms=NO_OUTAGE_MS)
    group, deaf = told(two_readers(config), "fast", 1_000, 0), Hearing(((1_000, 5_000),))
    assert next_deadline(group, 5_000, deaf) == 6_000
    assert (ceiling(group, 5_999, deaf), ceiling(group, 6_000, deaf)) == (60, 1_010)


def test_the_grace_of_a_new_group_is_longer_by_the_time_in_which_the_process_was_deaf() -> None:
    deaf = Hearing(((1_000, 16_000),))
    group = joined(create("g", CONFIG, 0), "fast", 1_000, 0, ceiling=60)
    group = told(group, "fast", 1_000, 16_001)
    assert (ceiling(group, 16_001, ALWAYS), ceiling(group, 16_001, deaf)) == (1_010, 60)
    late = register(group, "slow", ReaderRegistrationEvent(subtask=0, ceiling=40), 16_001, deaf)
    assert ceiling(late, 16_001, deaf) == 40


def test_an_end_is_reached_when_as_much_was_heard_as_it_takes_whatever_the_deaf_spans_are() -> None:
    random = Random(16)
    for _ in range(300):
        spans, at = list[Span](), 0
        for _ in range(random.randrange(4)):
            began = at + random.randrange(6)
            at = began + random.randrange(1, 6)
            spans.append((began, at))
        hearing, since, takes = Hearing(tuple(spans)), random.randrange(20), random.randrange(1, 12)
        heard = (ms for ms in range(since, MAX) if not any(began <= ms < ended for began, ended in spans))
        ends = [next(heard) for _ in range(takes)][-1] + 1
        assert hearing.ends_ms(since + takes, takes) == ends
        judged = [now for now in range(60) if hearing.judged_ms(now, takes) >= since + takes]
        assert judged[0] == ends
