from dataclasses import replace
from typing import Any

import pytest

from lockgate.errors import ReaderBusy, StaleEpoch, UnknownReader, UnknownSource
from lockgate.group.group import Group, create
from lockgate.group.reader import Reader
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import (
    GroupConfig,
    OnLostReader,
    ProgressEvent,
    ReaderFacts,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    SplitProgress,
    SplitReport,
    SplitState,
)
from support import turns as commands
from support.turns import decide, evaluate

NOW = 1_000_000
LEASE = 300
CONFIG = GroupConfig(lease_ms=LEASE, update_interval_ms=100, max_drift_ms=10)
A0 = ("a", 0)


def registered(group: Group, now_ms: int = NOW, **more: Any) -> Group:
    return commands.register(group, "a", ReaderRegistrationEvent(subtask=0, **more), now_ms)


def reported(group: Group, watermark: int, now_ms: int = NOW, **more: Any) -> Group:
    epoch = more.pop("epoch", group.readers[A0].epoch)
    return commands.report(
        group, "a", ReportedWatermarkEvent(subtask=0, epoch=epoch, watermark=watermark, **more), now_ms
    )


def progressed(group: Group, batch: int, attempt: int, now_ms: int = NOW, **watermarks: int) -> Group:
    splits = {name: SplitProgress(watermark=value, position=value, rows=value) for name, value in watermarks.items()}
    event = ProgressEvent(subtask=0, epoch=group.readers[A0].epoch, batch_id=batch, attempt=attempt, splits=splits)
    return commands.progress(group, "a", event, now_ms)


def said(group: Group) -> ReportedWatermarkEvent:
    found = group.readers[A0].reported
    assert found is not None
    return found


@pytest.fixture
def group() -> Group:
    return registered(create("g", CONFIG, NOW), owner="q")


@pytest.mark.parametrize("other", [-1, 1])
def test_an_epoch_that_is_not_the_newest_is_stale_in_both_directions(group: Group, other: int) -> None:
    epoch = group.readers[A0].epoch
    with pytest.raises(StaleEpoch) as refused:
        reported(group, 5, epoch=epoch + other)
    assert refused.value.current_epoch == epoch
    with pytest.raises(StaleEpoch):
        commands.leave(group, "a", 0, epoch + other, NOW)


def test_a_reader_that_never_registered_is_unknown_by_source_or_by_subtask(group: Group) -> None:
    event = ReportedWatermarkEvent(subtask=1, epoch=1, watermark=5)
    with pytest.raises(UnknownReader):
        commands.report(group, "a", event, NOW)
    with pytest.raises(UnknownSource):
        commands.report(group, "b", event, NOW)
    with pytest.raises(UnknownReader):
        commands.evict(group, "a", 1)


def test_report_of_older_epoch_counts_until_newer_ones_first_report(group: Group) -> None:
    group = registered(reported(group, 5), NOW + 1, owner="q")
    assert decide(group, NOW + 1).group_watermark == 5
    assert decide(reported(group, 9, NOW + 1), NOW + 1).group_watermark == 9


def test_report_of_older_epoch_counts_until_newer_ones_lease_ends(group: Group) -> None:
    group = registered(reported(group, 5), NOW + 1, owner="q")
    assert decide(group, NOW + LEASE).group_watermark == 5
    assert decide(group, NOW + 1 + LEASE).group_watermark == MAX


def test_registering_alone_does_not_bring_a_lost_reader_back(group: Group) -> None:
    group = reported(registered(commands.register(group, "b", ReaderRegistrationEvent(subtask=0), NOW), owner="q"), 5)
    for now_ms in range(NOW + 100, NOW + 500, 100):
        epoch = group.readers["b", 0].epoch
        group = commands.report(group, "b", ReportedWatermarkEvent(subtask=0, epoch=epoch, watermark=50), now_ms)
    assert decide(registered(group, NOW + 400, owner="q"), NOW + 400).group_watermark == 50
    held = replace(group, config=replace(CONFIG, on_lost_reader=OnLostReader.HOLD))
    assert decide(registered(held, NOW + 400, owner="q"), NOW + 400).group_watermark == 5


def test_a_lost_reader_that_holds_on_and_registers_again_offers_no_reach(group: Group) -> None:
    group = reported(replace(group, config=replace(CONFIG, on_lost_reader=OnLostReader.HOLD)), 5, reach=90)
    assert decide(registered(group, NOW + 1, owner="q"), NOW + 1).ceiling == 90
    assert decide(registered(replace(group, heard_at=None), NOW + LEASE, owner="q"), NOW + LEASE).ceiling == 15


def test_another_owner_is_busy_to_the_last_millisecond_of_the_lease(group: Group) -> None:
    with pytest.raises(ReaderBusy) as refused:
        registered(group, NOW + LEASE - 1, owner="other")
    assert refused.value.owner == "q"


def test_another_owner_gets_reader_that_is_lost_finished_or_taken_over(
    group: Group,
) -> None:
    other = commands.register(
        group, "b", ReaderRegistrationEvent(subtask=0), NOW + 100
    )  # a group that is heard excuses nobody
    other = commands.register(other, "b", ReaderRegistrationEvent(subtask=0), NOW + 200)
    assert registered(other, NOW + LEASE, owner="other").readers[A0].owner == "other"
    assert registered(reported(group, 5, finished=True), NOW + 1, owner="other").readers[A0].owner == "other"
    assert registered(group, NOW + 1, owner="other", takeover=True).readers[A0].owner == "other"


def test_the_same_owner_may_register_again_at_once_and_fences_itself(group: Group) -> None:
    assert registered(group, NOW, owner="q").readers[A0].epoch == group.readers[A0].epoch + 1


def test_first_report_of_min_does_not_count_and_a_later_one_holds(group: Group) -> None:
    assert not reported(group, MIN).started
    assert decide(reported(reported(group, 5), MIN), NOW).group_watermark == MIN
    assert reported(reported(group, 5), MIN).started


def test_an_idle_first_report_counts_whatever_its_watermark(group: Group) -> None:
    assert decide(reported(group, MIN, idle=True), NOW).group_watermark == MAX


def test_a_lower_report_lowers_the_minimum(group: Group) -> None:
    assert decide(reported(reported(group, 9), 3), NOW).group_watermark == 3


def test_each_report_is_judged_alone_and_refused_ones_change_nothing(group: Group) -> None:
    epoch = group.readers[A0].epoch
    good, stale = (ReportedWatermarkEvent(subtask=0, epoch=e, watermark=7) for e in (epoch, epoch + 1))
    after, refusals = commands.report_all(group, [("a", stale), ("a", good), ("b", good)], NOW)
    assert {index: type(refusal) for index, refusal in refusals.items()} == {0: StaleEpoch, 2: UnknownSource}
    assert said(after).watermark == 7
    assert commands.report_all(group, [("a", stale)], NOW + 10_000)[0] is group


def split(watermark: int, state: SplitState = SplitState.ACTIVE) -> SplitReport:
    return SplitReport(watermark=watermark, state=state)


def test_progress_raises_the_reader_to_its_lowest_split_that_does_not_rest(group: Group) -> None:
    group = reported(group, 5, splits={"p0": split(5), "p1": split(5), "p2": split(MIN, SplitState.IDLE)})
    group = progressed(group, 1, 0, p0=30)
    assert said(group).watermark == 5
    assert said(progressed(group, 1, 0, p1=20)).watermark == 20


def test_progress_never_lowers_the_reader(group: Group) -> None:
    group = reported(group, 5, splits={"p0": split(5)})
    assert said(progressed(group, 1, 0, p0=3)).watermark == 5


def test_report_without_splits_repeats_the_last_and_undoes_no_progress(group: Group) -> None:
    group = reported(group, 5, splits={"p0": split(5), "p1": split(7)})
    group = progressed(group, 1, 0, p0=30)
    group = reported(group, 5)
    assert (said(group).watermark, set(said(group).splits)) == (7, {"p0", "p1"})
    group = reported(group, 4, splits={"p0": split(4)})
    assert (said(group).watermark, set(said(group).splits)) == (4, {"p0"}), "one that names them is taken as it is"


FACTS = ReaderFacts(late_rows=2, event_time_rate=1_000)


def test_a_report_without_facts_leaves_the_last_ones_of_its_epoch(group: Group) -> None:
    group = reported(group, 100, facts=FACTS, splits={"p": split(100)})
    for more in ({}, {"splits": {"p": split(101)}}, {"idle": True}, {"park_ms": 1_000, "reach": 900}):
        group = reported(group, 101, **more)
        assert said(group).facts == FACTS
    assert said(progressed(group, 1, 0, p=102)).facts == FACTS
    assert said(reported(group, 101, facts=ReaderFacts(event_time_rate=3))).facts == ReaderFacts(event_time_rate=3)


def test_the_facts_of_an_older_epoch_end_with_the_newer_one_s_first_report(group: Group) -> None:
    group = registered(reported(group, 100, facts=FACTS), NOW + 1, owner="q")
    assert said(group).facts == FACTS
    assert said(reported(group, 100)).facts is None


def test_a_lost_reader_shows_its_last_facts(group: Group) -> None:
    lost, _ = evaluate(reported(group, 100, facts=FACTS, reach=200), NOW + LEASE + 1)
    assert lost.readers[A0].lost
    assert said(lost).facts == FACTS


def test_report_that_never_named_splits_is_not_raised(group: Group) -> None:
    group = reported(progressed(reported(group, 5), 1, 0, p0=30), 6)
    assert (said(group).watermark, said(group).splits) == (6, {})


def test_progress_of_a_reader_that_named_no_splits_does_not_raise_it(group: Group) -> None:
    group = progressed(reported(group, 5), 1, 0, p0=30)
    assert said(group).watermark == 5
    assert said(group).splits["p0"].watermark == 30


def test_progress_of_older_attempt_is_ignored_and_values_only_rise(group: Group) -> None:
    group = reported(group, 5, splits={"p0": split(5)})
    group = progressed(group, 2, 1, p0=10)
    for batch, attempt in ((2, 0), (1, 9)):
        group = progressed(group, batch, attempt, p0=99)
    assert (said(group).splits["p0"].watermark, group.readers[A0].progress_ignored) == (10, 2)
    assert said(progressed(group, 2, 1, p0=8)).splits["p0"] == SplitReport(watermark=10, position=10, rows=10)
    assert said(progressed(group, 2, 1, p0=12)).splits["p0"].watermark == 12
    assert said(progressed(group, 2, 2, p0=8)).splits["p0"].watermark == 8


def test_a_task_of_an_older_batch_stays_ignored_after_the_next_report(group: Group) -> None:
    group = progressed(reported(group, 5, splits={"p0": split(5)}), 2, 0, p0=10)
    group = progressed(reported(group, 10, splits={"p0": split(10)}), 1, 0, p0=99)
    assert said(group).watermark == 10


def test_progress_before_the_epochs_first_report_is_heard_and_nothing_more(group: Group) -> None:
    group = registered(reported(group, 5, splits={"p0": split(5)}), NOW + 1, owner="q")
    after = progressed(group, 1, 0, NOW + 2, p0=30)
    assert after.readers[A0] == replace(group.readers[A0], heard_at=NOW + 2)


def test_a_reader_that_leaves_no_longer_counts(group: Group) -> None:
    group = reported(group, 5)
    assert decide(commands.leave(group, "a", 0, group.readers[A0].epoch, NOW), NOW).group_watermark == MAX


@pytest.mark.parametrize(("ceilings", "cap"), [([None], None), ([40], 40), ([40, None, 30, 50], 30)])
def test_the_lowest_ceiling_presented_caps_a_new_group(ceilings: list[int | None], cap: int | None) -> None:
    group = create("g", CONFIG, NOW)
    for ceiling in ceilings:
        group = registered(group, ceiling=ceiling)
    assert group.cap == cap


def test_a_ceiling_presented_after_the_grace_is_ignored() -> None:
    group = create("g", CONFIG, NOW)
    assert registered(group, NOW + LEASE - 1, ceiling=40).cap == 40
    assert registered(group, NOW + LEASE, ceiling=40).cap is None


def test_a_reader_is_a_value(group: Group) -> None:
    assert group.readers[A0] == Reader(epoch=NOW, heard_at=NOW, owner="q")
