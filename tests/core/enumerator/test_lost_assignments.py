"""What the store has lost: how readers prove it, who waits, and where splits begin then."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.enumerator.fleet import Fleet, Process, assigned, split
from core.enumerator.test_exchanges import blocked_by, settled
from lockgate.enumerator.answers import Wishes, wishes
from lockgate.enumerator.discovery import request_to
from lockgate.enumerator.exchange import Exchanged, create
from lockgate.enumerator.leases import after_jumps
from lockgate.enumerator.model import Enumerator
from lockgate.flink.splits import COMMITTED_OFFSET, EARLIEST_OFFSET, LATEST_OFFSET
from lockgate.group.now import ClockJump
from lockgate.wire.split_events import DiscoveredSplits, NumberedSplit, SplitExchange, StoppedSplit
from support.exchanging import CONFIG, exchange

NOW, LEASE = 1_000_000, CONFIG.lease_ms


def says(enumerator: Enumerator, subtask: int, now: int, *held: NumberedSplit, **more: Any) -> Exchanged:
    event = SplitExchange(epoch=1, held=held, **more)
    return exchange(enumerator, (subtask, 1), event, now)


def wished(enumerator: Enumerator, subtask: int, now: int, *held: NumberedSplit) -> Wishes:
    return wishes(enumerator, (subtask, 1), SplitExchange(epoch=1, held=held), now)


def holder_and_standby() -> tuple[Fleet, Process, Process]:
    """One reads the only split, and has said where it is; another one holds nothing."""
    fleet = settled(partitions=1, readers=2)
    holder, standby = fleet.processes
    fleet.read(holder, 50)
    fleet.exchange(holder)
    return fleet, holder, standby


@given(silent=st.integers(1, 880), first=st.integers(0, 199), stranger=st.booleans())
def test_standby_of_the_lost_history_waits_while_the_holder_reads(silent: int, first: int, stranger: bool) -> None:
    fleet, holder, standby = holder_and_standby()
    fleet.now += silent
    fleet.enumerator = create(CONFIG, fleet.now)
    if stranger:  # it has seen nothing, and so proves nothing
        fleet.exchange(fleet.start(2, capacity=9))
    fleet.now += first
    for _ in range(50):
        for process in [each for each in fleet.processes if each is not holder]:
            fleet.exchange(process)
            fleet.check()
        fleet.read(holder, 5)
        fleet.read(standby, 5)
        fleet.now += 50
    fleet.check()
    assert len(blocked_by(fleet.enumerator, 1) | blocked_by(fleet.enumerator, 2)) == 1


def test_split_listed_before_or_after_the_loss_is_proved_begins_at_commits() -> None:
    """By a list that came before the proof, and by one that came after it."""
    found = DiscoveredSplits(splits=(split(0, EARLIEST_OFFSET),), request=NOW)
    proof: dict[str, Any] = {"seen": NOW - 1}
    listing: dict[str, Any] = {"discovery_interval_ms": 0, "discovered": found}
    for order in ((proof, listing), (listing, proof)):
        enumerator = create(CONFIG, NOW)
        for more in order:
            enumerator = says(enumerator, 0, NOW, **more).enumerator
        after = says(enumerator, 0, NOW + LEASE).enumerator
        assert after.readers[0, 1].held["orders-0"].split.starting_offset == COMMITTED_OFFSET


def test_wait_ends_one_lease_after_the_new_history_began() -> None:
    enumerator = create(CONFIG, NOW)
    for late in (10, 400, LEASE - 1, LEASE, 10 * LEASE):
        enumerator = says(enumerator, 0, NOW + late, seen=NOW - 5).enumerator
        assert enumerator.assigning_at == NOW + LEASE


def test_unknown_revision_stops_assigning_for_one_lease() -> None:
    known = says(create(CONFIG, NOW - 10_000), 0, NOW).enumerator
    rolled_back = says(known, 0, NOW, seen=known.revision + 1).enumerator
    assert (rolled_back.assigning_at, rolled_back.lost_history) == (NOW + LEASE, True)
    assert rolled_back.revision == NOW, "the store's time, and not what was seen"


def test_clock_jump_lengthens_the_wait_after_a_loss() -> None:
    jumped = after_jumps(create(CONFIG, NOW), [ClockJump(1, 3_600_000, NOW + 3_600_001)])
    after = says(jumped, 0, NOW + 3_600_001, seen=NOW - 5).enumerator
    assert after.assigning_at == NOW + 3_600_000 + LEASE


def rolled_back() -> tuple[Enumerator, NumberedSplit]:
    """The store is back where reader 0 held the split. Reader 1, which got it since, comes."""
    known = says(create(CONFIG, NOW - 10_000), 0, NOW - 10_000, discovery_interval_ms=0).enumerator
    found = DiscoveredSplits(splits=(split(0, EARLIEST_OFFSET),), request=request_to(known, (0, 1), NOW))
    known = says(known, 0, NOW - 500, discovery_interval_ms=0, discovered=found).enumerator
    assert blocked_by(known, 0) == {"orders-0"}
    mine = assigned(0, NOW - 100, 5_000)
    done = says(known, 1, NOW, mine, seen=NOW - 100)
    assert (done.stop, blocked_by(done.enumerator, 0)) == ((), {"orders-0"}), "it waits for the word of reader 0"
    return done.enumerator, mine


def test_presenter_gets_split_once_the_known_holder_does_not_name_it() -> None:
    enumerator, mine = rolled_back()
    silent = says(enumerator, 0, NOW + 10).enumerator
    after = says(silent, 1, NOW + 20, mine)
    assert (after.stop, blocked_by(after.enumerator, 1)) == ((), {"orders-0"})
    assert after.enumerator.readers[1, 1].held["orders-0"].split.starting_offset == 5_000


def test_presenter_gets_split_once_the_known_holders_lease_has_ended() -> None:
    enumerator, mine = rolled_back()
    for now in range(NOW, NOW + LEASE, 100):
        enumerator = says(enumerator, 1, now, mine).enumerator
    ended = says(enumerator, 2, NOW + LEASE).enumerator
    assert ended.assigning_at == NOW + 2 * LEASE, "the presenter, which may read so long, was not asked yet"
    assert blocked_by(says(ended, 1, NOW + LEASE + 100, mine).enumerator, 1) == {"orders-0"}


def test_split_stays_with_the_known_holder_that_names_it() -> None:
    enumerator, mine = rolled_back()
    own = assigned(0, enumerator.readers[0, 1].held["orders-0"].number, 40)
    kept = says(enumerator, 0, NOW + 10, own)
    after = says(kept.enumerator, 1, NOW + 20, mine)
    assert (kept.stop, after.stop) == ((), (StoppedSplit(split="orders-0", assignment=mine.assignment),))
    assert blocked_by(after.enumerator, 0) == {"orders-0"}


def test_reader_goes_on_under_a_lower_number_over_an_empty_store_behind() -> None:
    mine, seen = assigned(0, NOW, 5_000), NOW
    behind = NOW - 90_000
    done = says(create(CONFIG, behind), 0, behind, mine, seen=seen, discovery_interval_ms=0)
    assert done.stop == (StoppedSplit(split="orders-0", assignment=NOW),)
    assert behind <= done.enumerator.revision < behind + 10, "the store's time alone raises it"
    found = DiscoveredSplits(
        splits=(split(0, EARLIEST_OFFSET),), request=request_to(done.enumerator, (0, 1), behind + 50)
    )
    listed = says(done.enumerator, 0, behind + 50, discovery_interval_ms=0, discovered=found).enumerator
    assert not wished(listed, 0, behind + 50).add_splits
    (again,) = wished(says(listed, 0, behind + LEASE).enumerator, 0, behind + LEASE).add_splits
    assert (again.split.starting_offset, again.assignment) == (5_000, behind + LEASE)


def presented_over_a_store_behind(offsets: list[int]) -> Enumerator:
    """Each reader comes once, with one split, and has seen the same lost history."""
    enumerator = create(CONFIG, NOW - 90_000)
    for subtask, offset in enumerate(offsets):
        mine = assigned(subtask, NOW, offset)
        enumerator = says(enumerator, subtask, NOW - 90_000 + subtask, mine, seen=NOW).enumerator
    return enumerator


@given(st.lists(st.sampled_from([EARLIEST_OFFSET, LATEST_OFFSET, 0, 17]), min_size=1, max_size=4))
def test_reader_that_proves_the_loss_over_a_store_behind_keeps_place(offsets: list[int]) -> None:
    free = presented_over_a_store_behind(offsets).free
    assert {id: each.split.starting_offset for id, each in free.items()} == {
        f"orders-{partition}": offset for partition, offset in enumerate(offsets)
    }


def test_split_presented_at_the_beginning_goes_by_commits_past_the_wait() -> None:
    """Another reader may have got it in what was lost."""
    waiting = presented_over_a_store_behind([EARLIEST_OFFSET])
    for now, offset in ((waiting.assigning_at - 1, EARLIEST_OFFSET), (waiting.assigning_at, COMMITTED_OFFSET)):
        again = says(waiting, 1, now, seen=NOW).enumerator
        assert again.free["orders-0"].split.starting_offset == offset
