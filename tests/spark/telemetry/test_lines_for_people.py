"""All that a query prints over skewed data, in a group, through an outage, beside a silent split
and at an open window: no line has a raw figure of milliseconds, a name of the code, or a repr.
"""

import re
from dataclasses import dataclass

import pytest

from lockgate_spark.errors import WaitedTooLong
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.telemetry.waits import sentence
from lockgate_testbed.coordinator import CoordinatorProcess
from support.members import MINUTE, at, create, member
from support.runs import RunInMemory, SourceInMemory
from support.sessions import NOW_MS, T0, TimeInMemory, live, minutes, session

RAW = re.compile(
    r"(?<![:.T\d])\d{5,}\b|\bM(IN|AX)\b|\b(?!Alignment|Coordinator)[A-Z]\w+\(\w+=|<\w+\.\w+: |\b(Limit|PlannedState)\b"
)


@dataclass
class Clock:
    s: float = 1_000.0

    def __call__(self) -> float:
        return self.s


def lines(caplog: pytest.LogCaptureFixture, *more: str) -> list[str]:
    """All that was logged, and more, after a look at each of them."""
    found = [*caplog.messages, *more]
    assert found
    assert [line for line in found if RAW.search(re.sub(r"http\S+", "", line))] == []
    return found


def said(one: AlignedRun) -> str:
    assert one.planner.waits.present is not None
    return sentence("The query", *one.planner.waits.present)


@pytest.mark.parametrize(
    "line",
    [
        "behind by 740759 ms",
        "holds at MIN",
        "Blocker(source='a')",
        "<Limit.GROUP: 'group'>",
        "at -9223372036854775808",
        "held at 9223372036854775807",
    ],
)
def test_such_a_line_is_seen(line: str) -> None:
    assert RAW.search(line)


def test_waits_for_group_and_coordinator_are_readable(topic: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "lockgate")
    now = Clock()
    with (
        CoordinatorProcess() as coordinator,
        member(coordinator.url, topic, "slow", now=now) as slow,
        member(coordinator.url, topic, "fast", now=now, timeout="2 seconds") as ours,
    ):
        source = SourceInMemory({"f-0": minutes(0, 30, 200, 300), "f-1": minutes(0, 40, 250)})
        fast = session(source, membership=ours, time=(time := TimeInMemory()))
        slow.exchange(at(T0 - 1))
        start = {"f-0": 0, "f-1": 0}
        ends = fast.latest_offset(0, start)
        for _ in range(4):
            now.s, time.now = now.s + 100, time.now + 100
            ends = fast.latest_offset(0, ends)
        in_group = said(fast)
        coordinator.kill()
        for _ in range(4):
            now.s, time.now = now.s + 100, time.now + 100
            fast.latest_offset(0, ends)
        away = said(fast)
        fast.close()
    text = lines(caplog, in_group, away)
    assert "The query waits for its group" in in_group
    assert "slow/0" in in_group
    assert "The query waits for the coordinator" in away
    for begin in ("fast waits for its group", "fast waits for the coordinator", "fast waited"):
        assert sum(line.startswith(begin) for line in text) == (2 if begin == "fast waited" else 1), begin


def test_a_query_before_the_coordinator_s_first_answer_speaks_to_people(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG", "lockgate")
    coordinator = CoordinatorProcess()
    with coordinator:
        url = coordinator.url
    with member(url, "g", "fast", timeout="1 second") as ours:
        one = session(SourceInMemory({"f-0": minutes(0)}), membership=ours, time=TimeInMemory())
        one.latest_offset(0, {"f-0": 0})
        found = lines(caplog, said(one))
        one.close()
    assert any("fast waits for the coordinator and reads nothing before its first answer" in line for line in found)
    assert "it has not answered yet" in found[-1]


def test_waits_for_a_silent_split_or_a_window_are_readable(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG", "lockgate")
    time = TimeInMemory()
    source = SourceInMemory({"a-0": live(9, 3, 0.5), "a-1": live(10)})
    one = session(source, time=time, idle_timeout="5 minutes", max_drift="4 minutes")
    ends = one.latest_offset(0, {"a-0": 0, "a-1": 0})
    for _ in range(4):
        time.now += 5
        ends = one.latest_offset(0, ends)
    silent = said(one)
    one.close()
    hour = 60 * MINUTE
    sliced = SourceInMemory({"a-0": [NOW_MS - hour - 1, NOW_MS + 1, NOW_MS + 2]})
    run = RunInMemory(available_now=True)
    two = session(sliced.available_now(NOW_MS), run=run, time=TimeInMemory(), slice="1 hour", slice_zone="epoch")
    ends = two.latest_offset(0, {"a-0": 0})
    two.latest_offset(0, ends)
    left = two.planner.left
    two.close()
    text = lines(caplog, silent, left)
    assert "The query waits for partition a-1" in silent
    assert "its producer may be 5 min late" in silent
    assert "is still open, and is left for the next run" in left
    assert left in text


def test_an_error_after_too_long_a_wait_speaks_to_people(url: str, topic: str) -> None:
    create(url, topic, expected_sources=["never"])
    source = SourceInMemory({"a-0": minutes(0, 1)}).available_now(NOW_MS)
    with member(url, topic, "orders") as ours:
        one = session(source, run=RunInMemory(available_now=True), membership=ours, max_wait="300 milliseconds")
        with pytest.raises(WaitedTooLong) as raised:
            one.latest_offset(0, {"a-0": 0})
        one.close()
    assert not RAW.search(str(raised.value)), raised.value
    assert "never/0, which has reported no event time yet" in str(raised.value)
