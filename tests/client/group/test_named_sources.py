"""Sources that have names are added to a query and taken out of it: what becomes of their
readers.
"""

from lockgate_http.group.source_status import SourceStatus
from support.members import MINUTE, Requests, at, inspect, member

ORDERS, PAYMENTS, REFUNDS = 2**32 + 7, 2**32 + 5, 2**32 + 3


def standings(**watermarks: int) -> dict[int, SourceStatus]:
    numbers = {"orders": ORDERS, "payments": PAYMENTS, "refunds": REFUNDS}
    return {numbers[name]: SourceStatus(watermark, None) for name, watermark in watermarks.items()}


def subtasks(url: str, group: str) -> list[int]:
    return [reader["subtask"] for reader in inspect(url, group)["readers"]]


def test_source_taken_out_after_a_lost_run_no_longer_holds_the_group(url: str, group: str) -> None:
    with member(url, group, run="1") as lost:
        lost.exchange(standings(orders=1_000, payments=5_000))
    with member(url, group, run="2") as again:
        assert again.exchange(standings(payments=5_000, refunds=6_000)) == 5_000 + MINUTE
        assert subtasks(url, group) == [REFUNDS, PAYMENTS]


def test_a_source_that_was_parked_and_taken_out_holds_the_group_no_longer(url: str, group: str) -> None:
    run = member(url, group, run="1", park="1 hour")
    with run as scheduled:
        scheduled.exchange(standings(orders=1_000, payments=5_000))
        scheduled.close(standings(orders=1_000, payments=5_000), returns=True)
    with member(url, group, run="2", park="1 hour") as again:
        assert again.exchange(standings(payments=5_000)) == 5_000 + MINUTE


def test_readers_of_another_query_stay(url: str, group: str) -> None:
    with member(url, group, owner="another query") as other, member(url, group) as ours:
        other.exchange(standings(orders=1_000))
        assert ours.exchange(standings(payments=5_000)) == 1_000 + MINUTE
        assert subtasks(url, group) == [PAYMENTS, ORDERS]


def test_query_without_named_sources_does_not_ask_who_is_registered(url: str, group: str) -> None:
    requests = Requests()
    with member(url, group, transport=requests) as one:
        one.exchange(at(1_000) | {1: SourceStatus(2_000, None)})
    assert not [sent for sent in requests.sent if sent.startswith(("GET orders", "DELETE"))]
