"""Sources that have nothing more to bring in this run hold nobody."""

from lockgate.planner import Limit
from lockgate_spark import Alignment
from lockgate_spark.planning.session import Session
from support.runs import RunInMemory, SourceInMemory

HOUR = 3_600_000
NOW_MS = 100 * 24 * HOUR


def test_under_available_now_a_source_that_is_done_holds_nobody() -> None:
    done = SourceInMemory({"a-0": [0]}).available_now(NOW_MS)
    goes_on = SourceInMemory({"b-0": list(range(0, 50 * HOUR, HOUR))}, budget=10).available_now(NOW_MS)
    one = Session(Alignment(), RunInMemory(available_now=True), clock=lambda: NOW_MS / 1000)
    one.add(0, done)
    one.add(1, goes_on)
    a, b, plans = {"a-0": 0}, {"b-0": 0}, []
    for _ in range(5):
        a, b = one.latest_offset(0, a, None), one.latest_offset(1, b, 10)
        assert one.view is not None
        plans.append((b["b-0"], one.view.limit, one.view.paused))
    assert plans == [(n, Limit.BUDGET if n < 50 else Limit.END, ()) for n in (10, 20, 30, 40, 50)]
