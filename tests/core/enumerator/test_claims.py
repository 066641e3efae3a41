"""What readers present, of this history and of lost ones."""

from core.enumerator.fleet import Fleet, assigned, split
from core.enumerator.test_exchanges import blocked_by, settled
from lockgate.enumerator.exchange import create
from lockgate.enumerator.model import Enumerator
from lockgate.flink.splits import COMMITTED_OFFSET, EARLIEST_OFFSET, KafkaPartitionSplit
from lockgate.wire.split_events import DiscoveredSplits, NumberedSplit, SplitExchange, StoppedSplit
from support.exchanging import CONFIG, exchange

NOW = 1_000_000


def presented(
    enumerator: Enumerator, subtask: int, *held: NumberedSplit, now: int = NOW, epoch: int = 1
) -> tuple[Enumerator, tuple[StoppedSplit, ...]]:
    done = exchange(enumerator, (subtask, epoch), SplitExchange(epoch=epoch, held=held), now)
    return done.enumerator, done.stop


def test_reader_registered_again_by_the_same_process_keeps_its_splits() -> None:
    fleet = settled()
    old = fleet.processes[0]
    numbers = {id: each.assignment for id, each in old.held.items()}
    fleet.register_again(old)
    fleet.exchange(fleet.processes[-1])

    assert {id: each.assignment for id, each in fleet.processes[-1].held.items()} == numbers


def test_restarted_process_gets_the_same_splits_after_the_lease() -> None:
    fleet = settled()
    ids = set(fleet.processes[0].held)
    again = fleet.start(0)
    for _ in range(8):
        fleet.exchange(again)
        fleet.exchange(fleet.processes[1])
        assert not again.held
        fleet.now += 100
    fleet.now += 100
    fleet.exchange(again)

    assert set(again.held) == ids


def test_after_the_loss_of_everything_readers_keep_what_they_present() -> None:
    lost, stop = presented(create(CONFIG, NOW), 0, assigned(0, 500, 10))
    lost, also = presented(lost, 1, assigned(1, 600, 20))

    assert (stop, also) == ((), ())
    assert (blocked_by(lost, 0), blocked_by(lost, 1)) == ({"orders-0"}, {"orders-1"})
    assert lost.lost_history
    assert lost.assigning_at == NOW + CONFIG.lease_ms


def test_the_higher_number_of_one_split_wins_whoever_presents_it_first() -> None:
    older, newer = assigned(0, 500, 10), assigned(0, 600, 20)
    first, _ = presented(create(CONFIG, NOW), 0, older)
    first, stop = presented(first, 1, newer)
    assert (blocked_by(first, 1), stop) == ({"orders-0"}, ())
    assert presented(first, 0, older)[1] == (StoppedSplit(split="orders-0", assignment=500),)

    second, _ = presented(create(CONFIG, NOW), 1, newer)
    second, stop = presented(second, 0, older)
    assert (blocked_by(second, 1), stop) == ({"orders-0"}, (StoppedSplit(split="orders-0", assignment=500),))


def test_splits_not_presented_after_a_loss_begin_at_commits() -> None:
    splits = (split(0, EARLIEST_OFFSET), split(1, EARLIEST_OFFSET), split(2, 7))
    listed = DiscoveredSplits(splits=splits, request=NOW)
    event = SplitExchange(epoch=1, discovered=listed, discovery_interval_ms=1_000)
    fresh = exchange(create(CONFIG, NOW), (0, 1), event, NOW).enumerator
    assert offsets(fresh) == {"orders-0": EARLIEST_OFFSET, "orders-1": EARLIEST_OFFSET, "orders-2": 7}

    lost, _ = presented(fresh, 1, assigned(0, 500, 10))
    assert offsets(lost) == {"orders-1": COMMITTED_OFFSET, "orders-2": 7}

    empty, _ = presented(create(CONFIG, NOW), 1, assigned(0, 500, 10))
    late = exchange(empty, (0, 1), event, NOW).enumerator
    assert offsets(late) == {"orders-1": COMMITTED_OFFSET, "orders-2": 7}


def test_late_message_does_not_claim_a_split_given_back() -> None:
    fleet = settled(partitions=1, readers=1)
    process = fleet.processes[0]
    held = process.held["orders-0"]
    gone = SplitExchange(epoch=process.epoch, given_back=(held,), capacity=0)
    fleet.enumerator = exchange(fleet.enumerator, (0, process.epoch), gone, fleet.now).enumerator
    late = SplitExchange(epoch=process.epoch, held=(held,), capacity=0)
    done = exchange(fleet.enumerator, (0, process.epoch), late, fleet.now)

    assert done.stop == (StoppedSplit(split="orders-0", assignment=held.assignment),)
    assert "orders-0" in done.enumerator.free


def test_another_subtask_claims_nothing_with_the_number_of_the_holder() -> None:
    fleet = settled()
    id, held = next(iter(fleet.processes[0].held.items()))
    after, stop = presented(fleet.enumerator, 1, held, now=fleet.now, epoch=fleet.processes[1].epoch)

    assert stop == (StoppedSplit(split=id, assignment=held.assignment),)
    assert id in blocked_by(after, 0)


def offsets(enumerator: Enumerator) -> dict[str, int]:
    return {id: free.split.starting_offset for id, free in enumerator.free.items()}


def test_a_finished_split_is_nobodys() -> None:
    fleet: Fleet = settled(partitions=1, readers=1)
    process = fleet.processes[0]
    held = process.held["orders-0"]
    end = NumberedSplit(split=KafkaPartitionSplit("orders", 0, 90, 90), assignment=held.assignment)
    ended = SplitExchange(epoch=process.epoch, finished=(end,))
    done = exchange(fleet.enumerator, (0, process.epoch), ended, fleet.now)
    after, stop = presented(done.enumerator, 0, held, now=fleet.now, epoch=process.epoch)

    assert after.finished["orders-0"].split.starting_offset == 90
    assert stop
    assert after.finished.keys() == {"orders-0"}
