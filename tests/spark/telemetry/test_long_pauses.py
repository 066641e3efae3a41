"""A split that is paused for longer than the idle timeout is paused still: it has records, and they
count wherever the clock stands.
"""

from lockgate.plan.model import PlannedState
from support.members import MINUTE, at, inspect, member
from support.runs import SourceInMemory
from support.sessions import NOW_MS, T0, session


class Clock:
    """A wall clock that is set by hand, to some minutes after NOW_MS."""

    minutes = 0

    def __call__(self) -> float:
        return NOW_MS / 1000 + 60 * self.minutes


def test_split_paused_for_long_is_not_idle_and_loses_nothing() -> None:
    clock, ahead = Clock(), NOW_MS + 60 * MINUTE
    a = SourceInMemory({"a-0": [NOW_MS - MINUTE], "a-1": [NOW_MS - MINUTE, ahead, ahead + MINUTE]})
    one = session(a, clock=clock, max_drift="10 minutes", idle_timeout="1 minute")
    assert one.latest_offset(0, {"a-0": 0, "a-1": 0}) == {"a-0": 1, "a-1": 1}
    for clock.minutes, other in ((0, PlannedState.CAUGHT_UP), (5, PlannedState.IDLE), (40, PlannedState.IDLE)):
        assert one.latest_offset(0, {"a-0": 1, "a-1": 1}) == {"a-0": 1, "a-1": 1}
        assert one.view is not None
        assert [split.state for split in one.view.partitions] == [other, PlannedState.PAUSED]
        assert (one.view.paused, one.view.paused_ms) == (("a-1",), clock.minutes * MINUTE)
        assert one.view.partitions[1].watermark == ahead - 1
    clock.minutes = 55
    assert one.latest_offset(0, {"a-0": 1, "a-1": 1}) == {"a-0": 1, "a-1": 3}
    assert one.view.resumed == ("a-1",)


def test_in_a_group_it_is_reported_paused_and_where_it_stands(url: str, group: str) -> None:
    clock = Clock()
    with member(url, group, "slow") as slow, member(url, group, "fast") as ours:
        fast = session(
            SourceInMemory({"f-0": [T0, T0 + 30 * MINUTE]}), membership=ours, clock=clock, idle_timeout="1 minute"
        )
        slow.exchange(at(T0 - 1))
        assert fast.latest_offset(0, {"f-0": 0}) == {"f-0": 1}
        for clock.minutes in (60, 24 * 60):
            assert fast.latest_offset(0, {"f-0": 1}) == {"f-0": 1}
            split = inspect(url, group, "fast")["readers"][0]["splits"]["f-0"]
            assert (split["state"], split["watermark"]) == ("paused", T0 + 30 * MINUTE - 1)
        slow.exchange(at(T0 + 30 * MINUTE - 1))
        assert fast.latest_offset(0, {"f-0": 1}) == {"f-0": 2}
        fast.close()
