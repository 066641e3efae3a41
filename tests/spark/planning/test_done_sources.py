"""A source that is read to its end beside one that is not: in a replay it holds nobody, a live one
holds, under AvailableNow too.
"""

import pytest

from lockgate.plan.model import Limit
from lockgate_spark import Alignment
from lockgate_spark.planning.aligned_run import AlignedRun
from support.runs import RunInMemory, SourceInMemory

HOUR, MINUTE = 3_600_000, 60_000
NOW_MS = 100 * 24 * HOUR


def session(
    one: SourceInMemory, other: SourceInMemory, now_ms: int, available_now: bool, alignment: Alignment
) -> AlignedRun:
    made = AlignedRun(alignment, RunInMemory(available_now=available_now), clock=lambda: now_ms / 1000)
    for i, source in enumerate((one, other)):
        made.add(i, source.available_now(now_ms) if available_now else source)
    return made


@pytest.mark.parametrize("available_now", [True, False])
def test_in_a_replay_a_source_that_is_done_holds_nobody(available_now: bool) -> None:
    done, goes_on = SourceInMemory({"a-0": [0]}), SourceInMemory({"b-0": list(range(0, 50 * HOUR, HOUR))}, budget=10)
    one = session(done, goes_on, NOW_MS, available_now, Alignment())
    a, b, plans = {"a-0": 0}, {"b-0": 0}, []
    for _ in range(5):
        a, b = one.latest_offset(0, a), one.latest_offset(1, b)
        assert one.view is not None
        plans.append((b["b-0"], one.view.limited_by, one.view.paused))
    assert plans == [(n, Limit.BUDGET if n < 50 else Limit.END, ()) for n in (10, 20, 30, 40, 50)]


def test_available_now_leaves_records_beyond_a_done_source_to_next_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    done = SourceInMemory({"a-0": [NOW_MS - 30 * MINUTE]})
    goes_on = SourceInMemory({"b-0": [NOW_MS - n * MINUTE for n in range(40, 0, -1)]})
    alignment = Alignment(max_drift="10 minutes", idle_timeout="1 hour", max_out_of_orderness=0)
    first = session(done, goes_on, NOW_MS, True, alignment)
    a, b, ends = {"a-0": 0}, {"b-0": 0}, []
    for _ in range(2):  # no answer above the start is the end of the run for Spark
        a, b = first.latest_offset(0, a), first.latest_offset(1, b)
        ends.append((a["a-0"], b["b-0"]))
    assert ends == [(1, 20)] * 2, "10 minutes above the last record of the other, which may still get one as old"
    assert first.view is not None
    assert (first.view.limited_by, first.view.paused) == (Limit.HORIZON, ("b-0",))
    first.close()
    first.close()
    assert "are left for the next run: a-0 has received no records in this run" in caplog.text
    second = session(done, goes_on, NOW_MS + 2 * HOUR, True, alignment)
    assert second.latest_offset(0, a) == {"a-0": 1}
    assert second.latest_offset(1, b) == {"b-0": 40}
