"""The onlooker of seeded schedules sees what a coordinator announces, also after it was away."""

from lockgate_testbed.coordinator import CoordinatorProcess
from support.answers import wait_for
from support.http_readers import HttpReader
from support.schedules.onlooking import Onlooker
from support.services import make_group


def test_an_onlooker_has_the_ceiling_of_a_revision_that_a_reader_was_told() -> None:
    with CoordinatorProcess() as coordinator:
        make_group(coordinator.url, "g")
        with Onlooker(f"{coordinator.url}/v1/groups/g/alignment/events") as onlooker:
            told = HttpReader(coordinator.url, "g", "s").report(5_000)
            wait_for(lambda: onlooker.seen.get(told["revision"]) == told["max_desired_watermark"])
            coordinator.kill()
            coordinator.start()
            make_group(coordinator.url, "g")
            again = HttpReader(coordinator.url, "g", "s").report(9_000)
            wait_for(lambda: onlooker.seen.get(again["revision"]) == again["max_desired_watermark"])
