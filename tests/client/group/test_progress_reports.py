"""What executors report in the middle of a batch, beside the driver's own reports: it counts, once,
and lasts.
"""

import httpx
import pytest

from lockgate.wire.events import ProgressEvent, SplitProgress, SplitReport
from lockgate_http.calls.client import CoordinatorClient, Stale
from lockgate_http.config import Coordinator
from lockgate_http.group.membership import Membership
from lockgate_http.group.source_status import SourceStatus
from support.answers import wait_for
from support.members import Requests, create, member


def in_a_batch(membership: Membership, watermark: int) -> None:
    """The driver's report at the start of a batch that reads two splits from there on."""
    split = SplitReport(watermark=watermark, position=0, end=100)
    membership.exchange({0: SourceStatus(watermark, None, {"t-0": split, "t-1": split})})


def offer(url: str, group: str, epoch: int | None, *watermarks: int, attempt: int = 0) -> None:
    """What tasks send, as `report_progress` lets them."""
    splits = {f"t-{i}": SplitProgress(watermark=value, position=50, rows=50) for i, value in enumerate(watermarks)}
    with CoordinatorClient(Coordinator(url, group=group)) as task:
        task.offer("orders", ProgressEvent(subtask=0, epoch=epoch or 0, batch_id=3, attempt=attempt, splits=splits))


def alignment(url: str, group: str) -> dict[str, int]:
    found: dict[str, int] = httpx.get(f"{url}/v1/groups/{group}/alignment", timeout=60).raise_for_status().json()
    return found


def test_others_read_on_during_a_long_batch_that_reports_progress(url: str, group: str) -> None:
    create(url, group, lease_ms=4_000)
    requests = Requests()
    with member(url, group, transport=requests) as orders, member(url, group, "payments") as payments:
        in_a_batch(orders, 1_000)
        in_a_batch(payments, 400_000)
        offer(url, group, orders.epoch(0), 50_000, 70_000)
        assert alignment(url, group)["group_watermark"] == 50_000
        assert payments.wait_for_change(10_000)
        kept = requests.sent.count("POST watermarks")
        wait_for(lambda: requests.sent.count("POST watermarks") >= kept + 3)
        assert alignment(url, group)["group_watermark"] == 50_000
        in_a_batch(orders, 60_000)
        assert alignment(url, group)["group_watermark"] == 60_000, "the next plan says where it stands"


def test_a_task_of_a_run_that_was_replaced_is_refused(url: str, group: str) -> None:
    with member(url, group) as older, member(url, group, run="2") as newer:
        in_a_batch(older, 1_000)
        in_a_batch(newer, 1_000)
        with pytest.raises(Stale):
            offer(url, group, older.epoch(0), 90_000, 90_000)
        assert alignment(url, group)["group_watermark"] == 1_000
