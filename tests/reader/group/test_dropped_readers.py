"""A consumer that its program drops without `close()`, or that is open when the process ends."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from lockgate_reader import AlignedConsumer, Coordinator
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from support.answers import wait_for
from support.services import Service, filled, make_group, splits_of

pytestmark = pytest.mark.kafka

PROGRAM = """\
from lockgate_reader import AlignedConsumer, Coordinator

consumer = AlignedConsumer(
    "{topic}", kafka={{"bootstrap.servers": "{kafka}"}},
    coordinator=Coordinator("{url}", group="{topic}", source="enrich"), starting_offsets="earliest",
)
print(next(iter(consumer)).offset())
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with CoordinatorProcess() as coordinator:
        yield coordinator.url


def dropped(kafka: KafkaBroker, topic: str, url: str) -> None:
    """One that has begun to read, and is forgotten."""
    consumer = AlignedConsumer(
        topic,
        kafka={"bootstrap.servers": kafka.bootstrap},
        coordinator=Coordinator(url, group=topic, source="enrich"),
        starting_offsets="earliest",
    )
    assert next(iter(consumer)).offset() == 0


def test_dropped_consumer_warns_and_frees_its_splits_before_its_lease_ends(
    kafka: KafkaBroker, topic: str, url: str
) -> None:
    filled(kafka, topic, [5])
    make_group(url, topic)
    with pytest.warns(ResourceWarning, match=r"an AlignedConsumer of .* was dropped without close\(\)"):
        dropped(kafka, topic, url)
    wait_for(lambda: not splits_of(url, topic)["readers"])
    with Service(kafka, topic, url, topic) as service:
        wait_for(lambda: (0, 4) in service.seen)


def test_a_process_that_ends_with_an_open_consumer_ends_cleanly(kafka: KafkaBroker, topic: str, url: str) -> None:
    filled(kafka, topic, [5])
    make_group(url, topic)
    program = PROGRAM.format(topic=topic, kafka=kafka.bootstrap, url=url)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
