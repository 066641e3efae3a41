"""A look at the logs holds for a second, while nothing moves and the clock is no limit."""

import pytest

from lockgate_spark import Alignment
from lockgate_spark.planning.planner import Planner
from lockgate_spark.planning.steps import Query
from support.runs import RunInMemory, SourceInMemory
from support.sessions import NOW_MS, live, minutes

READ = {"a-0": 0, "a-1": 0}
BACKLOG, LIVE = {"a-0": minutes(*range(0, 200, 10))}, {"a-0": live(30, 20, 10, 0), "a-1": live(30)}


@pytest.mark.parametrize(
    ("logs", "later_s", "start", "holds"),
    [
        pytest.param(BACKLOG, 0.0, READ, True, id="at once"),
        pytest.param(BACKLOG, 0.9, READ, True, id="within a second"),
        pytest.param(BACKLOG, 1.0, READ, False, id="after a second"),
        pytest.param(BACKLOG, -0.1, READ, False, id="the clock was put back"),
        pytest.param(BACKLOG, 0.0, {"a-0": 1, "a-1": 0}, False, id="a position has moved"),
        pytest.param(LIVE, 0.0, READ, False, id="the horizon moves with the clock"),
    ],
)
def test_look_holds_for_a_second_while_nothing_moves(
    logs: dict[str, list[int]], later_s: float, start: dict[str, int], holds: bool
) -> None:
    now = [NOW_MS / 1000]
    sources = {0: SourceInMemory({"a-1": [], **logs}, budget=8)}
    alignment = Alignment(max_out_of_orderness=0)
    looker = Planner(Query(alignment, RunInMemory(), None, sources), lambda: now[0], lambda: now[0]).looker
    first = looker.look({0: READ}, 0)
    now[0] += later_s
    assert (looker.look({0: start}, 0) is first) == holds
