"""One turn: each command's outcome, and what the turn makes of the group."""

import pytest

from lockgate.errors import StaleEpoch, UnknownGroup, UnknownReader
from lockgate.group.commands import (
    Configure,
    Configured,
    Done,
    Evict,
    Expire,
    Opened,
    Pause,
    PreconditionFailed,
    Register,
    Renew,
    Reports,
    Resume,
    Taken,
    Versions,
)
from lockgate.group.expiry import Expiry
from lockgate.group.group import Group
from lockgate.group.now import Now
from lockgate.group.turn import turn
from lockgate.wire.events import CatchUp, GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent

CONFIG = GroupConfig(max_drift_ms=10, lease_ms=900, update_interval_ms=100, catch_up=CatchUp.STRICT)
NOW = Now(1_000_000)


def report(group: Group, subtask: int, watermark: int, off: int = 0) -> tuple[str, ReportedWatermarkEvent]:
    epoch = group.readers["a", subtask].epoch + off
    return "a", ReportedWatermarkEvent(subtask=subtask, epoch=epoch, watermark=watermark)


@pytest.fixture
def group() -> Group:
    """Return a group with the readers a/0 and a/1."""
    readers = [Register("a", ReaderRegistrationEvent(subtask=subtask)) for subtask in (0, 1)]
    return turn(None, [Configure(CONFIG), *readers], NOW, name="g").group


def test_turn_leaves_the_group_before_it_unchanged(group: Group) -> None:
    first, second = (turn(group, [Reports([report(group, 0, 5)])], NOW) for _ in range(2))
    assert (first.group, first.event) == (second.group, second.event)
    assert first.before is group
    assert group.readers["a", 0].reported is None


def test_refused_command_takes_nothing_from_the_others(group: Group) -> None:
    new, stale = Register("b", ReaderRegistrationEvent(subtask=0)), Renew("a", 0, group.readers["a", 0].epoch + 1)
    done = turn(group, [new, stale, Evict("a", 1)], NOW)
    assert [type(outcome) for outcome in done.outcomes] == [Opened, StaleEpoch, Done]
    assert set(done.group.readers) == {("a", 0), ("b", 0)}


def test_neighbouring_reports_have_their_own_refusals(group: Group) -> None:
    first = Reports([report(group, 0, 5, off=1), report(group, 1, 7)])
    second = Reports([report(group, 0, 6), report(group, 1, 9, off=-1)])
    done = turn(group, [first, second], NOW)
    refused = [list(taken.refusals) for taken in done.outcomes if isinstance(taken, Taken)]
    assert refused == [[0], [1]]
    assert done.event.group_watermark == 6


def test_group_that_is_not_there_refuses_all_but_two_commands() -> None:
    done = turn(None, [Evict("a", 0), Reports([]), Resume("a")], NOW, name="g")
    assert [type(outcome) for outcome in done.outcomes] == [UnknownGroup] * 3
    with pytest.raises(UnknownGroup):
        _ = done.group


def test_act_is_carried_out_once_and_answered_alike() -> None:
    configure, other = Configure(CONFIG, act="1"), Configure(GroupConfig(lease_ms=5_000), act="2")
    first = turn(None, [configure, other], NOW, name="g")
    again = turn(first.group, [configure], Now(NOW.ms + 1))
    assert isinstance(first.outcomes[0], Configured)
    assert again.outcomes == [first.outcomes[0]]
    assert again.group.config.lease_ms == 5_000


@pytest.mark.parametrize("command", [Evict("a", 0, act="1"), Pause("a", "", act="1")])
def test_repeated_act_is_neither_refused_nor_undone(group: Group, command: Evict | Pause) -> None:
    first = turn(group, [command, Resume("a")], NOW)
    again = turn(first.group, [command], NOW)
    assert again.outcomes == [Done(repeated=True)]
    assert again.after is first.after
    assert isinstance(turn(first.group, [Evict("a", 9)], NOW).outcomes[0], UnknownReader)


def test_configuration_is_refused_unless_its_condition_holds(group: Group) -> None:
    this, another, any_version = (
        Versions(frozenset({group.config_version})),
        Versions(frozenset({1})),
        Versions(any=True),
    )
    allowed = [
        Configure(CONFIG, only=this),
        Configure(CONFIG, never=another),
        Configure(CONFIG, only=any_version),
    ]
    refused = [
        Configure(CONFIG, only=another),
        Configure(CONFIG, never=this),
        Configure(CONFIG, never=any_version),
    ]
    kinds = [type(turn(group, [command], NOW).outcomes[0]) for command in allowed + refused]
    assert kinds == [Configured] * 3 + [PreconditionFailed] * 3


def test_turn_tells_which_command_removed_a_reader(group: Group) -> None:
    lost = turn(group, [Reports([report(group, 0, 5), report(group, 1, 5)])], NOW).group
    for later in range(300, 3_000, 300):
        lost = turn(lost, [Reports([report(lost, 1, 5)])], Now(NOW.ms + later)).group
    done = turn(lost, [Expire(Expiry(readers_ms=500)), Evict("a", 1)], Now(NOW.ms + 3_000))
    assert (done.removed_by(Expire), done.removed_by(Evict)) == ({("a", 0)}, {("a", 1)})


def test_refused_report_after_outage_leaves_the_group_as_it_is(group: Group) -> None:
    done = turn(group, [Reports([report(group, 0, 5, off=1)])], Now(NOW.ms + 60_000))
    assert (done.group.heard_at, done.group.readers["a", 1].excused) == (group.heard_at, False)
