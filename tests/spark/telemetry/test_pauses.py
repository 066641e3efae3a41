"""The lines in the log of a query that its group stops: by made-up plans, over a real
membership.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from lockgate.plan.model import Limit, Plan, PlannedState, SplitPlan
from lockgate_spark.group.membership import Membership
from lockgate_spark.logs.unread import Key
from lockgate_spark.telemetry.pauses import Pauses
from support.answers import accepting_only
from support.members import MINUTE, at, member


@dataclass
class Clock:
    s: float = 0.0

    def __call__(self) -> float:
        return self.s


def plan(offsets: int, state: PlannedState, limit: Limit, up_to: int = MINUTE) -> Plan[Key]:
    """A plan of one split. `up_to`: its target and its ceiling, ms."""
    split = SplitPlan(position=5, end=5 + offsets, state=state, watermark=0, next=None)
    return Plan(target=up_to, ceiling=up_to, limit=limit, splits={(0, "a-0"): split}, look_ups=0)


HELD = plan(0, PlannedState.PAUSED, Limit.GROUP)
READS = plan(4, PlannedState.PAUSED, Limit.GROUP, up_to=3 * MINUTE)  # as far as the group lets it
READ_ALL = plan(0, PlannedState.CAUGHT_UP, Limit.END)


def lines(caplog: pytest.LogCaptureFixture, membership: Membership, *plans: Plan[Key]) -> list[str]:
    """What is said of these plans, which come a second apart; without the group's name."""
    caplog.set_level("INFO", "lockgate")
    caplog.clear()
    clock = Clock()
    pauses = Pauses(membership, clock)
    for each in plans:
        pauses.made(each)
        clock.s += 1.0
    return [line.removeprefix(f"group {membership.group}: ") for line in caplog.messages]


@pytest.fixture
def orders(url: str, group: str, peer: Membership) -> Iterator[Membership]:
    """It has been told that its peer holds it."""
    with member(url, group) as orders:
        orders.exchange(at(2 * MINUTE))
        yield orders


def test_a_pause_that_lasts_is_told_of_once_and_its_end_once(
    orders: Membership, caplog: pytest.LogCaptureFixture
) -> None:
    begun = "orders is paused at 1970-01-01T00:01:00.000Z, for 2 s now; held by peer/0 at 1970-01-01T00:00:00.000Z"
    ended = "orders goes on to 1970-01-01T00:03:00.000Z, after 30.0 s"
    assert lines(caplog, orders, *[HELD] * 30, READS, READS, READ_ALL) == [begun, ended]
    assert lines(caplog, orders, *[HELD] * 30, READS, *[HELD] * 30, READS) == [begun, ended] * 2


def test_a_pause_of_a_moment_is_worth_no_line(orders: Membership, caplog: pytest.LogCaptureFixture) -> None:
    assert lines(caplog, orders, *[HELD, HELD, READS] * 5) == []


@pytest.mark.parametrize(
    "other", [plan(0, PlannedState.PAUSED, Limit.HORIZON), plan(0, PlannedState.CAUGHT_UP, Limit.GROUP)]
)
def test_a_query_that_waits_for_its_own_split_or_has_read_all_is_not_paused_by_the_group(
    orders: Membership, caplog: pytest.LogCaptureFixture, other: Plan[Key]
) -> None:
    assert lines(caplog, orders, *[other] * 5, READS) == []


def test_a_pause_that_ends_with_nothing_left_to_read_says_so(
    orders: Membership, caplog: pytest.LogCaptureFixture
) -> None:
    assert lines(caplog, orders, *[HELD] * 3, READ_ALL)[1:] == ["orders has nothing to read any more, after 3.0 s"]


def test_in_an_outage_it_is_the_coordinator_that_is_missing_and_nobody_in_the_group(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with accepting_only() as url, member(url, "g", timeout="100 milliseconds") as orders:
        orders.exchange(at(2 * MINUTE))
        assert lines(caplog, orders, *[HELD] * 30) == [
            "orders is paused at 1970-01-01T00:01:00.000Z, for 2 s now; the coordinator cannot be reached"
        ]


def test_before_anybody_has_reported_no_other_reader_holds_the_group(
    url: str, group: str, caplog: pytest.LogCaptureFixture
) -> None:
    with member(url, group) as orders:
        assert lines(caplog, orders, *[HELD] * 3) == [
            "orders is paused at 1970-01-01T00:01:00.000Z, for 2 s now; no other reader holds the group"
        ]
