from typing import Any

import pytest

from lockgate.errors import ReaderBusy, StaleEpoch, UnknownReader, UnknownSource
from lockgate.group.group import Group, create
from lockgate.watermark import MIN
from lockgate.wire.events import (
    GroupConfig,
    ProgressEvent,
    ReaderFacts,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    SplitProgress,
    SplitReport,
    SplitState,
)
from support import turns as commands
from support.turns import NOW, evaluate

LEASE = 300
CONFIG = GroupConfig(lease_ms=LEASE, update_interval_ms=100, max_drift_ms=10)
A0 = ("a", 0)


def registered(group: Group, now_ms: int = NOW, **more: Any) -> Group:
    return commands.registered(group, "a", now_ms, **more)


def reported(group: Group, watermark: int, now_ms: int = NOW, **more: Any) -> Group:
    return commands.reported(group, "a", watermark, now_ms, **more)


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


def test_another_owner_is_busy_to_the_last_millisecond_of_the_lease(group: Group) -> None:
    with pytest.raises(ReaderBusy) as refused:
        registered(group, NOW + LEASE - 1, owner="other")
    assert refused.value.owner == "q"


def test_another_owner_gets_reader_that_is_lost_finished_or_taken_over(group: Group) -> None:
    other = commands.register(
        group, "b", ReaderRegistrationEvent(subtask=0), NOW + 100
    )  # a group that is heard excuses nobody
    other = commands.register(other, "b", ReaderRegistrationEvent(subtask=0), NOW + 200)
    assert registered(other, NOW + LEASE, owner="other").readers[A0].owner == "other"
    assert registered(reported(group, 5, finished=True), NOW + 1, owner="other").readers[A0].owner == "other"
    assert registered(group, NOW + 1, owner="other", takeover=True).readers[A0].owner == "other"


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
    assert after.readers[A0] == group.readers[A0]._replace(heard_at=NOW + 2)
