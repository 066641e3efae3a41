"""Each fault of `support.faults` that no assertion of a schedule shows bites."""

import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime

import httpx
import pytest

from lockgate_cli.verify.rules import verify
from lockgate_cli.verifying import read
from lockgate_testbed.redis import RedisServer
from support.answers import wait_for
from support.deaf import COUNT, stuck
from support.faults import STEPPED_S, Fault, Plant, schedule
from support.http_readers import HttpReader
from support.left_out import left_out, or_left_out
from support.rotated import AS_ADMIN

pytestmark = pytest.mark.redis

CONFIG = {"lease_ms": 60_000, "update_interval_ms": 100}


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    or_left_out(RedisServer)
    with Plant(tmp_path_factory.mktemp("plant")) as plant:
        yield plant


@pytest.fixture
def reader(plant: Plant, topic: str) -> HttpReader:
    """The only reader of a group of the test's own."""
    plant.configure(topic, CONFIG)
    return HttpReader(plant.coordinators[0].url, topic, "orders", headers=AS_ADMIN)


def wanted(plant: Plant, fault: Fault) -> Fault:
    """The fault, if this machine can have it."""
    if fault in plant.left_out:
        left_out(plant.left_out[fault], may_be=fault is Fault.DISK_FULL)  # a build need not be root
    return fault


def clocks(plant: Plant) -> tuple[float, float]:
    """How far the clocks of a coordinator and of Redis are ahead, in s."""
    answer = httpx.get(f"{plant.coordinators[1].url}/healthz", timeout=60)
    at = parsedate_to_datetime(answer.headers["date"]).timestamp()
    return at - time.time(), plant.redis_time_s() - time.time()


def test_step_puts_clocks_of_coordinators_and_redis_ahead(plant: Plant, topic: str, reader: HttpReader) -> None:
    reader.report(1_000)
    with plant.broken(wanted(plant, Fault.CLOCK_STEPPED), 0, topic):
        wait_for(lambda: min(clocks(plant)) > STEPPED_S - 5, 10)
        reader.report(2_000)
    wait_for(lambda: max(map(abs, clocks(plant))) < 5, 10)
    reader.report(3_000)
    assert "its clock has jumped" in plant.coordinators[0].log.read_text()


def test_full_disk_of_redis_fails_reports_until_it_is_freed(plant: Plant, topic: str, reader: HttpReader) -> None:
    with plant.broken(wanted(plant, Fault.DISK_FULL), 0, topic), pytest.raises(httpx.HTTPStatusError, match="503"):
        list(map(reader.report, range(1, 1_000)))  # the last page of Redis's log has room for some
    wait_for(lambda: httpx.get(f"{plant.coordinators[0].url}/readyz", timeout=60).is_success)
    reader.report(2_000)


def test_full_disk_leaves_turns_out_of_a_history_that_can_be_read(plant: Plant, topic: str, reader: HttpReader) -> None:
    reader.report(0)
    with plant.broken(wanted(plant, Fault.DISK_FULL), 1, topic):
        for watermark in range(1_000, 60_000, 1_000):
            reader.report(watermark)
    reader.report(60_000)
    verdict = verify(read(plant.histories))
    assert verdict.violations == []
    assert f"{topic}: turns before" in "\n".join(verdict.notices)


def test_deaf_subscribers_leave_bytes_with_the_server(plant: Plant, topic: str, reader: HttpReader) -> None:
    watermark = 0
    with plant.broken(Fault.SUBSCRIBERS_DEAF, 0, topic):
        while stuck(plant.coordinators[1].url) < COUNT:
            watermark += 1_000
            assert reader.report(watermark)["group_watermark"] == watermark


def test_each_schedule_has_a_step_a_full_disk_and_a_change_of_leaders() -> None:
    drawn = [[fault for step in schedule(seed)[0] for fault in step.faults] for seed in range(30)]
    for faults in drawn:
        assert {Fault.CLOCK_STEPPED, Fault.DISK_FULL, Fault.SUBSCRIBERS_DEAF, Fault.BROKER_KILLED} < set(faults)
        assert {Fault.DRIVER_STOPPED, Fault.READER_STOPPED} & set(faults)
        assert {Fault.DRIVER_KILLED, Fault.READER_KILLED} & set(faults)
    assert {fault for faults in drawn for fault in faults} == set(Fault)
