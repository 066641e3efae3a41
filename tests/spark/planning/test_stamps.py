"""When Kafka stamped the oldest of some records, by look-ups by time over logs in memory, whose
times are the stamps here.
"""

from collections.abc import Mapping

import pytest

from lockgate_http.group.membership import Membership
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import KafkaRequests
from lockgate_spark.planning.retention import MOST_STAMPS_ASKED, OldestStamp
from support.members import create, inspect, membership
from support.runs import SourceInMemory
from support.sessions import NOW_MS, live, session

MINUTE = 60_000
DAY = 24 * 60 * MINUTE
WEEK = 7 * DAY
SINCE = NOW_MS - WEEK


def asked(records: Mapping[str, list[int]]) -> KafkaRequests:
    requests = SourceInMemory(records).log.requests
    requests.set_splits(records)
    return requests


def found(
    stamps: OldestStamp, requests: KafkaRequests, heads: dict[str, int], *, chances: int = 12
) -> tuple[int, str] | None:
    told = None
    for _ in range(chances):
        told = stamps.look(requests, heads, SINCE, NOW_MS)
    return told


LOGS = {"a-0": [NOW_MS - 3 * DAY, NOW_MS - DAY], "a-1": [NOW_MS - 4 * DAY, NOW_MS - 2 * DAY]}


@pytest.mark.parametrize(
    ("heads", "stamp", "split"),
    [
        ({"a-0": 0, "a-1": 0}, NOW_MS - 4 * DAY, "a-1"),
        ({"a-0": 0, "a-1": 1}, NOW_MS - 3 * DAY, "a-0"),
        ({"a-0": 1, "a-1": 1}, NOW_MS - 2 * DAY, "a-1"),
        ({"a-0": 1}, NOW_MS - DAY, "a-0"),
    ],
)
def test_the_oldest_stamp_is_found_to_the_minute_and_from_below(heads: dict[str, int], stamp: int, split: str) -> None:
    told = found(OldestStamp(), asked(LOGS), heads)
    assert told is not None
    assert told[1] == split
    assert 0 <= stamp - told[0] <= MINUTE


def test_oldest_stamp_is_returned_once_known_to_a_hundredth() -> None:
    stamps, requests, told = OldestStamp(), asked(LOGS), list[int | None]()
    for _ in range(6):
        before = requests.made
        answer = stamps.look(requests, {"a-0": 0}, SINCE, NOW_MS)
        assert requests.made - before <= MOST_STAMPS_ASKED
        told.append(None if answer is None else NOW_MS - 3 * DAY - answer[0])
    assert told[0] is None
    assert all(each is not None and 0 <= each <= WEEK // 100 for each in told[3:])
    found(stamps, requests, {"a-0": 0})
    before = requests.made
    found(stamps, requests, {"a-0": 0})
    assert requests.made == before, "a minute is exact enough"


def test_oldest_stamp_follows_records_that_are_read_or_replayed() -> None:
    stamps, requests = OldestStamp(), asked(LOGS)
    for heads, days in (({"a-0": 0}, 3), ({"a-0": 1}, 1), ({"a-0": 0}, 3), ({"a-0": 0, "a-1": 0}, 4), ({"a-0": 1}, 1)):
        told = found(stamps, requests, heads)
        assert told is not None
        assert 0 <= NOW_MS - days * DAY - told[0] <= MINUTE, heads


def test_what_is_due_by_now_is_told_as_due_now() -> None:
    stamps, requests = OldestStamp(), asked(LOGS)
    assert found(stamps, requests, {"a-1": 0})
    later = NOW_MS - 2 * DAY
    assert stamps.look(requests, {"a-1": 0}, later, NOW_MS) == (later, "a-1")


def test_without_heads_nothing_is_told() -> None:
    assert found(OldestStamp(), asked(LOGS), {}) is None


def plans(membership_of: Membership | None) -> None:
    """Some plans, eleven seconds apart, of a query over event times in the payload that is paused
    at a day ago.
    """
    clock = [NOW_MS / 1000]
    a = SourceInMemory({"a-0": live(3 * 24 * 60, 60), "a-1": live(24 * 60, 30)})
    a.jvm.config = f"delete\t{WEEK}\t-1\tCreateTime"
    a.log, a.event_time = KafkaSplitLog(a.jvm, in_payload=True), object()
    one = session(a, membership=membership_of, clock=lambda: clock[0], max_drift="1 minute", idle_timeout="30 days")
    for _ in range(12):
        clock[0] += 11
        one.latest_offset(0, {"a-0": 0, "a-1": 0})
    one.close()


def test_deletion_time_is_known_with_event_time_in_the_payload(url: str, topic: str) -> None:
    create(url, topic, update_interval_ms=10)
    plans(membership(url, topic))
    shown = inspect(url, topic)["readers"][0]["facts"]
    assert shown["retention_split"] == "a-1"
    assert 0 <= live(24 * 60)[0] + WEEK - shown["retained_until"] <= MINUTE


def test_a_query_without_a_group_looks_for_no_stamps(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(*_: object) -> None:
        raise AssertionError("nobody asks for it")

    monkeypatch.setattr(OldestStamp, "look", look)
    plans(None)
