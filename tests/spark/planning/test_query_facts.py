"""What a run tells its group beside its watermarks: real runs over logs in memory, in a group of a
real coordinator.
"""

import json
from typing import Any

import httpx
import pytest

from lockgate.watermark import MAX, MIN
from lockgate_spark.event_times import KAFKAS, Origin, QueryWatermark
from lockgate_spark.planning.planner import WatermarkPace
from support.members import MINUTE, Requests, at, create, inspect, member, membership
from support.runs import RunInMemory, SourceInMemory
from support.sessions import TimeInMemory, live, minutes, session

DAY_MS = 24 * 60 * MINUTE
KEPT_FOR_A_YEAR = f"delete\t{365 * DAY_MS}\t-1\tCreateTime"


def facts(url: str, group: str, source: str = "orders", subtask: int = 0) -> dict[str, Any]:
    shown: dict[str, Any] = inspect(url, group, source)["readers"][subtask]["facts"]
    return shown


@pytest.mark.parametrize(("older", "newer"), [("a-0", "a-1"), ("a-1", "a-0")])
def test_paused_reader_reports_which_record_is_deleted_first(url: str, topic: str, older: str, newer: str) -> None:
    create(url, topic, update_interval_ms=10)
    a = SourceInMemory({"a-0": minutes(0, 1, 2, 3, 4, 7, 8), "a-1": minutes(0, 1, 2, 3, 4, 6, 8)})
    a.jvm.config = KEPT_FOR_A_YEAR
    one = session(a, membership=membership(url, topic))
    assert one.latest_offset(0, {newer: 2, older: 0}) == {newer: 2, older: 1}
    assert facts(url, topic)["retained_until"] is None, "of the first report no plan has been made"
    one.latest_offset(0, {newer: 2, older: 1})
    shown = facts(url, topic)
    assert (shown["retained_until"], shown["retention_split"]) == (minutes(1)[0] + 365 * DAY_MS, older)
    one.close()


def test_late_rows_and_rows_saved_are_told_by_reader_and_by_query(url: str, topic: str) -> None:
    create(url, topic, catch_up="joint", update_interval_ms=10)
    a, b = (SourceInMemory({f"{name}-0": minutes(*range(50))}, budget=5) for name in "ab")
    origins = tuple(Origin(True, KAFKAS, KAFKAS, source) for source in (0, 1))
    one = session(
        a, b, run=RunInMemory(found=[QueryWatermark(KAFKAS, MINUTE, origins)]), membership=membership(url, topic)
    )
    one.tell_late(1, 7)
    for position in (0, 5):
        one.latest_offset(0, {"a-0": position})
        one.latest_offset(1, {"b-0": position})
    first, second = (facts(url, topic, subtask=i) for i in (0, 1))
    assert (first["late_rows"], second["late_rows"]) == (None, 7)
    assert (first["rows_saved"], second["rows_saved"]) == (0, None)
    one.close()
    one.close()


def test_the_largest_lag_of_a_producer_is_told(url: str, topic: str) -> None:
    create(url, topic, catch_up="joint", update_interval_ms=10)
    time = TimeInMemory()
    a = SourceInMemory({"a-0": live(60), "a-1": live(60)})
    one = session(a, membership=membership(url, topic), time=time)
    one.latest_offset(0, {"a-0": 0, "a-1": 0})
    one.latest_offset(0, {"a-0": 1, "a-1": 1})
    a.records["a-1"] += live(10)
    time.now += 2
    one.latest_offset(0, {"a-0": 1, "a-1": 1})
    one.latest_offset(0, {"a-0": 1, "a-1": 2})
    one.close()
    assert facts(url, topic)["producer_lag_ms"] == 10 * MINUTE


def test_a_run_without_a_group_makes_no_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(*_: object) -> None:
        raise AssertionError("a query without a group told a group something")

    monkeypatch.setattr(WatermarkPace, "seen", made)
    one = session(SourceInMemory({"a-0": minutes(*range(9))}))
    assert one.latest_offset(0, {"a-0": 0}) == {"a-0": 9}
    one.close()


class Ignoring(Requests):
    """A coordinator of the release before: it takes a report as if it had no facts."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/watermarks"):
            body = json.loads(request.content)
            for report in body.get("reports", [body]):
                report.pop("facts", None)
            text = json.dumps(body).encode()
            headers = {**request.headers, "content-length": str(len(text))}
            request = httpx.Request(request.method, request.url, headers=headers, content=text)
        return await super().handle_async_request(request)


def test_coordinator_that_ignores_reader_stats_changes_nothing(url: str, topic: str) -> None:
    ends = []
    for group, transport in ((topic, Requests()), (f"{topic}-before", Ignoring())):
        create(url, group)
        a = SourceInMemory({"a-0": minutes(*range(9))}, budget=3)
        with member(url, group, "peer") as peer:
            peer.exchange(at(minutes(2)[0]))
            ours = membership(url, group, transport=transport)
            one = session(a, membership=ours)
            ends.append((one.latest_offset(0, {"a-0": 0}), one.latest_offset(0, {"a-0": 3}), ours.ceiling))
            assert (facts(url, group) is None) is isinstance(transport, Ignoring)
            one.close()
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([(0, 1_000)], None),
        ([(0, 1_000), (0.5, 5_000)], None),
        ([(0, 1_000), (2, 5_000)], 2_000),
        ([(0, 1_000), (2, 5_000), (4, 5_000)], 1_000),
        ([(0, 1_000), (2, 5_000), (4, 3_000)], None),
        ([(0, 1_000), (2, 5_000), (4, 3_000), (6, 3_400)], 200),
        ([(0, MIN), (2, 1_000)], None),
        ([(0, 1_000), (2, MAX), (4, 5_000)], None),
        ([(0, 0), (30, 60_000), (61, 60_000), (91, 60_000)], 0),
        ([(0, 0), (600, 60_000)], 100),
        ([(0, 0), (600, 60_000), (1_200, 60_000)], 0),
    ],
)
def test_event_time_rate_covers_the_last_minute_or_the_last_batch(
    points: list[tuple[float, int]], expected: int | None
) -> None:
    pace, found = WatermarkPace(), None
    for now, watermark in points:
        found = pace.seen(watermark, now)
    assert found == expected


def test_pace_keeps_few_points_however_often_it_looks() -> None:
    pace = WatermarkPace()
    for look in range(100_000):
        pace.seen(look, look / 100)
    assert len(pace._points) < 70
