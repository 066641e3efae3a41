"""The changes of state between two groups."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from lockgate.group import source_pauses
from lockgate.group.group import Group, create, replace_config
from lockgate.group.reader import Reader
from lockgate.wire.events import (
    GroupConfig,
    Mode,
    OnMaxWait,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    SourcePause,
)
from lockgate_coordinator.telemetry.changes import HOLD_MS, Change, Kind, are_ordinary, changes, moved
from support import turns as commands
from support.turns import evaluate

CONFIG = GroupConfig(lease_ms=1_000, max_drift_ms=10)


class Recorded:
    """A group that is committed again and again, and the changes of each commit."""

    def __init__(self, config: GroupConfig = CONFIG) -> None:
        self.now_ms = 10_000
        self.group: Group | None = None
        self.commit(lambda group, now_ms: create("g", config, now_ms))

    def commit(
        self, command: Callable[[Any, int], Group], later_ms: int = 1, evicted: frozenset[tuple[str, int]] = frozenset()
    ) -> list[Change]:
        self.now_ms += later_ms
        before = self.group
        after, _ = evaluate(command(before, self.now_ms), self.now_ms)
        self.group = after
        readers = moved(before, after)
        found = list(changes(before, after, readers, self.now_ms, dict.fromkeys(evicted, Kind.EVICTED)))
        assert not (found and are_ordinary(before, after, readers))
        return found

    def registers(self, source: str, owner: str = "", *, takeover: bool = False) -> list[Change]:
        event = ReaderRegistrationEvent(subtask=0, owner=owner, takeover=takeover)
        return self.commit(lambda group, now_ms: commands.register(group, source, event, now_ms))

    def reports(self, source: str, watermark: int, later_ms: int = 1, **more: Any) -> list[Change]:
        assert self.group is not None
        event = ReportedWatermarkEvent(
            subtask=0, epoch=self.group.readers[source, 0].epoch, watermark=watermark, **more
        )
        return self.commit(lambda group, now_ms: commands.report(group, source, event, now_ms), later_ms)

    def waits(self) -> None:
        """`b` waits for `a`."""
        for source in ("a", "b"):
            self.registers(source)
        self.reports("a", 5)
        for _ in range(2):
            self.reports("b", 1_000)

    def looks(self, later_ms: int) -> list[Change]:
        return self.commit(lambda group, now_ms: group, later_ms)


def kinds(found: list[Change]) -> list[str]:
    return [f"{change.kind.value} {change.source}" for change in found]


def test_a_reader_registers_then_starts_then_only_its_watermark_moves() -> None:
    recorded = Recorded()
    (registered,) = recorded.registers("a", owner="query-1")
    assert (registered.kind, registered.source, registered.subtask) == (Kind.REGISTERED, "a", 0)
    assert registered.details["owner"] == "query-1"
    assert kinds(recorded.reports("a", 5)) == ["reader_started a"]
    assert recorded.reports("a", 6) == []
    assert recorded.reports("a", 6, batch_id=3) == []


def test_idle_active_and_finished_are_one_change_each() -> None:
    recorded = Recorded()
    recorded.registers("a")
    recorded.reports("a", 5)
    assert kinds(recorded.reports("a", 5, idle=True)) == ["reader_idle a"]
    assert recorded.reports("a", 5, idle=True) == []
    assert kinds(recorded.reports("a", 6)) == ["reader_active a"]
    assert kinds(recorded.reports("a", 6, finished=True)) == ["reader_finished a"]


def test_a_parked_reader_is_one_change_and_so_is_its_next_run() -> None:
    recorded = Recorded()
    recorded.registers("a", "hourly")
    recorded.reports("a", 5)
    (parked,) = recorded.reports("a", 6, park_ms=5_000)
    assert (parked.kind, parked.details) == (Kind.PARKED, {"park_ms": 5_000, "watermark": 6})
    assert recorded.reports("a", 6, park_ms=5_000) == []
    assert kinds(recorded.registers("a", "hourly")) == ["reader_fenced a"]
    assert kinds(recorded.reports("a", 7)) == ["reader_started a"]
    assert kinds(recorded.reports("a", 8, park_ms=5_000)) == ["reader_parked a"]
    assert kinds(recorded.reports("a", 8)) == ["reader_active a"]


def test_parked_reader_without_next_run_is_lost_for_that_reason() -> None:
    recorded = Recorded()
    recorded.registers("a")
    recorded.reports("a", 6, park_ms=5_000)
    (lost,) = recorded.looks(5_000)
    assert (lost.kind, lost.reason) == (Kind.LOST, "it was parked, and its next run did not start in time")


def test_a_reader_lost_by_a_clock_that_was_ahead_returns_for_that_reason() -> None:
    recorded = Recorded()
    recorded.registers("a")
    recorded.reports("a", 5)
    assert kinds(recorded.looks(60_000)) == ["reader_lost a"]
    (returned,) = recorded.looks(-60_000)
    assert (returned.kind, returned.reason) == (
        Kind.RETURNED,
        "the clock was ahead when its lease seemed to have expired",
    )


def test_a_newer_epoch_fences_the_older_one_and_both_are_named() -> None:
    recorded = Recorded()
    recorded.registers("a", "one")
    recorded.reports("a", 5)
    (fenced,) = recorded.registers("a", "two", takeover=True)
    assert fenced.kind is Kind.FENCED
    assert (fenced.details["fenced_owner"], fenced.details["owner"]) == ("one", "two")
    assert fenced.details["fenced_epoch"] != fenced.details["epoch"]
    assert kinds(recorded.reports("a", 6)) == ["reader_started a"]


def test_reader_whose_lease_ends_is_lost_and_returns_with_a_report() -> None:
    recorded = Recorded()
    for source in ("a", "b"):
        recorded.registers(source)
        recorded.reports(source, 5)
    for _ in range(4):
        assert recorded.reports("b", 5, later_ms=240) == []
    (lost,) = recorded.reports("b", 5, later_ms=100)
    assert (lost.kind, lost.source, lost.details["silent_ms"]) == (Kind.LOST, "a", 1_062)
    (returned,) = recorded.reports("a", 5)
    assert (returned.kind, returned.reason) == (Kind.RETURNED, "it reported again")


def test_after_an_outage_of_all_those_found_lost_return_by_their_leases() -> None:
    recorded = Recorded()
    for source in ("a", "b"):
        recorded.registers(source)
        recorded.reports(source, 5)
    assert kinds(recorded.looks(5_000)) == ["reader_lost a", "reader_lost b"]
    back = recorded.reports("b", 5)
    assert sorted(kinds(back)) == ["reader_returned a", "reader_returned b"]
    assert {change.source: change.reason for change in back}[
        "a"
    ] == "all readers had been silent, so the outage was added to its lease"


def test_a_leave_and_an_eviction_are_different_changes() -> None:
    recorded = Recorded()
    for source in ("a", "b"):
        recorded.registers(source)
    assert recorded.group is not None
    epoch = recorded.group.readers["a", 0].epoch
    assert kinds(recorded.commit(lambda group, now_ms: commands.leave(group, "a", 0, epoch, now_ms))) == [
        "reader_left a"
    ]
    gone = recorded.commit(lambda group, now_ms: commands.evict(group, "b", 0), evicted=frozenset({("b", 0)}))
    assert kinds(gone) == ["reader_evicted b"]


def test_a_wait_that_is_too_long_is_one_change_and_its_end_is_none() -> None:
    recorded = Recorded(replace(CONFIG, lease_ms=100_000, max_wait_ms=500))
    recorded.waits()
    (overdue,) = recorded.looks(600)
    assert (overdue.kind, overdue.source, overdue.details) == (
        Kind.OVERDUE,
        "b",
        {"waited_ms": 601, "max_wait_ms": 500},
    )
    assert recorded.reports("b", 1_000) == []
    assert recorded.reports("a", 2_000) == []
    assert recorded.reports("b", 1_001) == []


def test_proceed_passes_over_reader_until_it_is_near() -> None:
    recorded = Recorded(replace(CONFIG, lease_ms=100_000, max_wait_ms=500, on_max_wait=OnMaxWait.PROCEED))
    recorded.waits()
    assert sorted(kinds(recorded.looks(600))) == ["reader_overdue b", "reader_passed_over a"]
    assert recorded.reports("a", 6) == []
    assert kinds(recorded.reports("a", 995)) == ["reader_counted_again a"]


def test_wait_of_ten_seconds_and_its_end_are_one_change_each() -> None:
    recorded = Recorded(replace(CONFIG, lease_ms=100_000))
    recorded.waits()
    since = recorded.now_ms - 1
    assert recorded.reports("b", 1_000, later_ms=HOLD_MS - 2) == []
    (began,) = recorded.reports("b", 1_000)
    assert (began.kind, began.source) == (Kind.WAIT_BEGAN, "b")
    ceiling = 5 + recorded.group.config.max_drift_ms
    assert began.details == {"since": since, "read_limit": ceiling, "blocked_by": ["a/0"]}
    assert recorded.reports("b", 1_000, later_ms=HOLD_MS) == []
    recorded.reports("a", 2_000)
    (ended,) = recorded.reports("b", 1_001)
    assert (ended.kind, ended.details["waited_ms"]) == (Kind.WAIT_ENDED, recorded.now_ms - since)
    assert ended.details["read_limit"] == ceiling + 996, "the ceiling under which it reads on"


def test_a_shorter_wait_is_no_change() -> None:
    recorded = Recorded(replace(CONFIG, lease_ms=100_000))
    recorded.waits()
    recorded.reports("a", 2_000, later_ms=HOLD_MS - 3)
    assert recorded.reports("b", 1_001) == []


def test_a_pause_of_a_source_and_its_end_are_a_change_each() -> None:
    recorded = Recorded()
    recorded.registers("a")
    pause = SourcePause(source="a", at=7, by="ops", reason="night")
    (paused,) = recorded.commit(lambda group, now_ms: source_pauses.pause(group, pause, now_ms))
    assert (paused.kind, paused.source, paused.details) == (Kind.SOURCE_PAUSED, "a", {"by": "ops", "why": "night"})
    (resumed,) = recorded.commit(lambda group, now_ms: source_pauses.resume(group, "a", now_ms))
    assert (resumed.kind, resumed.details["paused_by"]) == (Kind.SOURCE_RESUMED, "ops")


def test_the_last_expected_source_makes_the_common_start() -> None:
    recorded = Recorded(replace(CONFIG, expected_sources=("a", "b")))
    recorded.registers("a")
    assert kinds(recorded.reports("a", 5)) == ["reader_started a"]
    recorded.registers("b")
    assert kinds(recorded.reports("b", 5)) == ["common_start None", "reader_started b"]


def test_a_configuration_is_one_change_with_the_changed_fields() -> None:
    recorded = Recorded()
    config = replace(CONFIG, mode=Mode.OBSERVE, max_drift_ms=20)
    (configured,) = recorded.commit(lambda group, now_ms: replace_config(group, config, now_ms))
    assert configured.kind is Kind.GROUP_CONFIGURED
    assert configured.details["changed"] == {
        "max_drift_ms": {"from": 10, "to": 20},
        "mode": {"from": "enforce", "to": "observe"},
    }


def test_several_commands_of_one_commit_are_changes_in_their_order() -> None:
    recorded = Recorded()

    def registers_and_reports(group: Group, now_ms: int) -> Group:
        group = commands.register(group, "a", ReaderRegistrationEvent(subtask=0), now_ms)
        epoch = group.readers["a", 0].epoch
        return commands.report(
            group, "a", ReportedWatermarkEvent(subtask=0, epoch=epoch, watermark=1, idle=True), now_ms
        )

    assert kinds(recorded.commit(registers_and_reports)) == ["reader_registered a", "reader_started a", "reader_idle a"]


MOVES = "heard_at progressed_at excused owner attributes splits_named attempts progress_ignored arriving"
"""Fields of a reader that are no change of state by themselves: an ordinary commit may change them.
"""

REPORT_MOVES = {"subtask", "watermark", "reach", "batch_id", "splits", "facts"}
"""Likewise of its last report."""

HELD = {"held_since"}
"""A wait may begin or end in an ordinary commit, but not begin anew: then it was let go."""


def test_every_field_of_a_reader_is_a_change_of_state_or_listed_as_none() -> None:
    """A new field fails here until the shortcut `_is_ordinary` looks at it, or a list above names
    it.
    """
    report = ReportedWatermarkEvent(subtask=0, epoch=1, watermark=1)
    old = Reader(epoch=1, heard_at=1, reported=report)

    def is_ordinary(new: Reader) -> bool:
        before = create("g", CONFIG, 1)
        return are_ordinary(before, before, [(("a", 0), old, new)])

    for name, value in old._asdict().items():
        if name not in HELD | {"reported", *MOVES.split()}:
            assert not is_ordinary(old._replace(**{name: another(value)})), name
    for each in fields(ReportedWatermarkEvent):
        if each.name not in REPORT_MOVES:
            changed = replace(report, **{each.name: another(getattr(report, each.name))})
            assert not is_ordinary(old._replace(reported=changed)), each.name
    assert is_ordinary(old._replace(heard_at=2, reported=replace(report, watermark=2)))


def another(value: object) -> object:
    """Return a value that is not this one."""
    return not value if isinstance(value, bool) else 7
