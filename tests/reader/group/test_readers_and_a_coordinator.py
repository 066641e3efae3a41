"""A reader, a real Kafka, a real coordinator: how it waits, leaves, is fenced, and what it says."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from threading import Event

import httpx
import pytest

from lockgate_reader import AssignedSplit, ReaderMode
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from support.answers import wait_for
from support.http_readers import HttpReader
from support.services import T0, Service, filled, make_group, positions_of, splits_of

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with CoordinatorProcess() as coordinator:
        yield coordinator.url


def everything(partitions: int, each: int) -> list[tuple[int, int]]:
    return [(partition, offset) for partition in range(partitions) for offset in range(each)]


def slowly(pause_s: float, until: Event) -> Callable[[object], object]:
    """Work on a record, until the event is set: then there is none."""
    return lambda record: until.wait(pause_s)


def test_a_reader_waits_for_alignment_with_one_that_comes_from_far_behind(
    kafka: KafkaBroker, topic: str, url: str
) -> None:
    filled(kafka, topic, [1_500] * 2, step_ms=100)
    make_group(url, topic)
    in_haste = Event()
    with Service(kafka, topic, url, topic, work=slowly(0.01, in_haste)) as service:
        wait_for(lambda: len(service.seen) > 30)
        behind = HttpReader(url, topic, "behind")
        behind.report(T0 - 3_600_000)
        wait_for(lambda: service.status.mode is ReaderMode.WAITING_FOR_ALIGNMENT)
        assert service.status.waits_for == "reader behind/0"
        assert len(service.seen) < 3_000
        in_haste.set()
        behind.report(T0 + 86_400_000)
        wait_for(lambda: len(service.seen) == 3_000)
    assert sorted(service.seen) == everything(2, 1_500)


SERVICE = """
import sys
from lockgate_reader import AlignedConsumer, Coordinator
bootstrap, topic, url = sys.argv[1:]
kafka = {"bootstrap.servers": bootstrap}
shop = Coordinator(url, group=topic, source="enrich")
with AlignedConsumer(topic, kafka=kafka, starting_offsets="earliest", coordinator=shop) as consumer:
    for record in consumer:
        print(record.partition(), record.offset(), flush=True)
        if record.offset() == 20:
            print("ready", flush=True)
"""


def test_sigterm_gives_splits_back_at_their_positions(kafka: KafkaBroker, topic: str, url: str) -> None:
    filled(kafka, topic, [40] * 2)
    make_group(url, topic)
    leaving = subprocess.Popen(
        [sys.executable, "-c", SERVICE, kafka.bootstrap, topic, url], stdout=subprocess.PIPE, text=True
    )
    assert leaving.stdout is not None
    first = []
    for line in leaving.stdout:
        if line == "ready\n":
            leaving.terminate()
        else:
            partition, offset = line.split()
            first.append((int(partition), int(offset)))
    assert leaving.wait(60) == 0
    assert splits_of(url, topic)["enumerator"]["assigned"] == 0, "the lease would last ten minutes"
    assert positions_of(url, topic) == {
        f"{topic}-{part}": max((offset for p, offset in first if p == part), default=-1) + 1 for part in (0, 1)
    }
    with Service(kafka, topic, url, topic) as other:
        wait_for(lambda: len(first) + len(other.seen) == 80)
    assert sorted(first + other.seen) == everything(2, 40)


def test_a_split_that_its_new_reader_has_not_opened_yet_holds_the_group(
    kafka: KafkaBroker, topic: str, url: str
) -> None:
    """The new reader's program is slow in `on_assigned`. No report has the split meanwhile,
    and it is the one furthest behind.
    """
    filled(kafka, topic, [1_000] * 2)
    make_group(url, topic, max_drift_ms=100_000)
    opens, reads = Event(), Event()
    assigned: list[str] = []

    def on_assigned(splits: Sequence[AssignedSplit]) -> None:
        assigned.extend(each.split.split_id for each in splits)
        opens.wait(300)

    def paused() -> list[int]:
        """The watermarks of the splits that wait at the ceiling."""
        readers = httpx.get(f"{url}/v1/groups/{topic}/sources/enrich", timeout=60).json()["readers"]
        splits = [split for reader in readers for split in reader["splits"].values()]
        return [split["watermark"] for split in splits if split["state"] == "paused"]

    with Service(kafka, topic, url, topic, work=lambda record: reads.wait(0.02)) as old:
        wait_for(lambda: len(old.seen) > 60)
        with Service(kafka, topic, url, topic, on_assigned=on_assigned) as new:
            wait_for(lambda: assigned)
            wait_for(lambda: splits_of(url, topic)["enumerator"]["assigned"] == 2)
            reads.set()
            (moved,) = assigned
            stood = T0 + 1_000 * positions_of(url, topic)[moved]
            wait_for(lambda: stood < max(paused(), default=0))
            (ahead,) = paused()
            assert ahead <= stood + 100_000
            opens.set()
            wait_for(lambda: len(old.seen) + len(new.seen) == 2_000)
    assert sorted(old.seen + new.seen) == everything(2, 1_000)


def test_fenced_reader_joins_again_by_itself_and_reads_on(kafka: KafkaBroker, topic: str, url: str) -> None:
    filled(kafka, topic, [600] * 2)
    make_group(url, topic, lease_ms=3_000)
    in_haste = Event()
    with Service(kafka, topic, url, topic, work=slowly(0.01, in_haste)) as service:
        wait_for(lambda: len(service.seen) > 10)
        HttpReader(url, topic, "enrich", 0, owner="somebody else", takeover=True)
        wait_for(lambda: [each["subtask"] for each in splits_of(url, topic)["readers"] if not each["fenced"]] == [1])
        in_haste.set()
        httpx.delete(f"{url}/v1/groups/{topic}/sources/enrich/readers/0?force=true", timeout=60).raise_for_status()
        wait_for(lambda: set(service.seen) == set(everything(2, 600)))
    assert service.failed is None


def test_source_events_go_both_ways(kafka: KafkaBroker, topic: str, url: str) -> None:
    filled(kafka, topic, [500])
    make_group(url, topic)
    came: list[object] = []
    over = Event()

    def work(record: object) -> None:
        came.extend(service.consumer.source_events())
        over.wait(0.02)

    with Service(kafka, topic, url, topic, work=work) as service:
        wait_for(lambda: service.seen)
        path = f"{url}/v1/groups/{topic}/sources/enrich/events"
        httpx.post(path, json={"event": {"do": "flush"}, "id": "1"}, timeout=60).raise_for_status()
        wait_for(lambda: came == [{"do": "flush"}])
        service.consumer.send_source_event({"lag": 5})
        wait_for(lambda: splits_of(url, topic)["enumerator"]["source_events"])
        over.set()
    assert [each["event"] for each in splits_of(url, topic)["enumerator"]["source_events"]] == [{"lag": 5}]
    assert came == [{"do": "flush"}], "once"


def test_a_batch_on_which_the_program_failed_is_given_back_unread(kafka: KafkaBroker, topic: str, url: str) -> None:
    filled(kafka, topic, [60])
    make_group(url, topic)
    failing = Service(kafka, topic, url, topic).consumer
    worked_on = 0

    def program() -> None:
        nonlocal worked_on
        with failing:
            for count, batch in enumerate(failing.batches(10)):
                assert count < 2
                worked_on += batch.num_rows

    with pytest.raises(AssertionError):
        program()
    assert positions_of(url, topic) == {f"{topic}-0": worked_on}
    with Service(kafka, topic, url, topic) as other:
        wait_for(lambda: other.seen[-1:] == [(0, 59)])
    assert other.seen == [(0, offset) for offset in range(worked_on, 60)]


def test_a_bounded_split_whose_last_batch_failed_is_not_finished(kafka: KafkaBroker, topic: str, url: str) -> None:
    filled(kafka, topic, [5])
    make_group(url, topic)
    failing = Service(kafka, topic, url, topic, ending_offsets="latest").consumer

    def program() -> None:
        with failing:
            for batch in failing.batches(50):
                assert batch["offset"].to_pylist()[-1] < 4

    with pytest.raises(AssertionError):
        program()
    assert splits_of(url, topic)["enumerator"]["finished"] == 0
    assert positions_of(url, topic)[f"{topic}-0"] < 5
    with Service(kafka, topic, url, topic, ending_offsets="latest") as other:
        wait_for(lambda: other.ended)
    assert other.seen[-1] == (0, 4)
