"""What is known of a log is as old as the request that told it, however long the broker took; the
clock is an argument.
"""

from lockgate_spark import Alignment
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.planning.aligned_run import AlignedRun
from support.runs import RunInMemory, SourceInMemory
from support.sessions import going_with

MINUTE = 60_000
NOW_MS = 1_767_225_600_000


class SlowBroker(SourceInMemory):
    """Ten minutes pass while it is asked where the logs end."""

    now = NOW_MS

    def ends(self, start: Offsets) -> Offsets:
        found = super().ends(start)
        self.now += 10 * MINUTE
        return found

    def clock(self) -> float:
        return self.now / 1000


def test_caught_up_split_is_known_until_just_before_the_request() -> None:
    # The record of a-1 was stamped while the broker was asked: a-0 may have got one as old in that
    # time.
    source = SlowBroker({"a-0": [NOW_MS - 2 * MINUTE], "a-1": [NOW_MS - 2 * MINUTE, NOW_MS + 5 * MINUTE]})
    alignment = Alignment(idle_timeout="1 minute", max_drift="1 minute")
    one = AlignedRun(alignment, RunInMemory(), clock=source.clock, ticks=going_with(source.clock))
    one.add(0, source)
    assert one.latest_offset(0, {"a-0": 1, "a-1": 0}) == {"a-0": 1, "a-1": 1}
    assert source.log.learned["a-0"].known_until == NOW_MS
    assert one.view is not None
    assert one.view.read_limit == NOW_MS - 1, "until then less idle_timeout, and the drift more"
    before = source.now
    assert before > NOW_MS + 5 * MINUTE
    assert one.latest_offset(0, {"a-0": 1, "a-1": 1}) == {"a-0": 1, "a-1": 2}, "and with the next look it is read"
    assert source.log.learned["a-0"].known_until == before
