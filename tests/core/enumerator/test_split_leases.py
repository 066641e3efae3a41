"""Until when splits are a silent reader's own."""

from dataclasses import replace

from core.enumerator.test_exchanges import settled
from lockgate.enumerator.leases import after_jumps, after_time, end_leases, is_over
from lockgate.enumerator.work import Work
from lockgate.group.now import ClockJump, Now
from lockgate.steps import at_once
from support.exchanging import CONFIG


def test_the_lease_is_the_one_that_the_reader_was_told_last() -> None:
    fleet = settled()
    silent = (1, fleet.processes[1].epoch)
    heard_at = fleet.enumerator.readers[silent].heard_at
    fleet.now = heard_at + CONFIG.lease_ms - 1
    assert not is_over(fleet.enumerator.readers[silent], Now(fleet.now))
    assert is_over(fleet.enumerator.readers[silent], Now(fleet.now + 1))


def test_time_in_which_the_process_was_deaf_counts_against_no_lease() -> None:
    fleet = settled()
    reader = fleet.enumerator.readers[0, fleet.processes[0].epoch]
    end = reader.heard_at + CONFIG.lease_ms

    assert not is_over(reader, Now(end, ((end - 200, end - 100),)))
    assert is_over(reader, Now(end + 100, ((end - 200, end - 100),)))


def test_the_silence_of_all_is_added_to_each_lease_once() -> None:
    fleet = settled()
    heard_at = fleet.enumerator.heard_at or 0
    after = at_once(after_time(fleet.enumerator, CONFIG, heard_at + 5_000))
    again = at_once(after_time(replace(after, heard_at=heard_at), CONFIG, heard_at + 5_000))

    assert {reader.heard_at for reader in after.readers.values()} <= set(range(heard_at + 4_000, heard_at + 5_001))
    assert again.readers == after.readers


def test_a_silence_within_the_tolerance_is_none() -> None:
    fleet = settled()
    heard_at = fleet.enumerator.heard_at or 0

    assert at_once(after_time(fleet.enumerator, CONFIG, heard_at + CONFIG.lease_ms // 3)) is fleet.enumerator


def test_a_clock_that_is_put_back_leaves_one_lease_at_most() -> None:
    fleet = settled()
    earlier = fleet.now - 100_000
    after = at_once(after_time(fleet.enumerator, CONFIG, earlier))

    assert {reader.heard_at for reader in after.readers.values()} == {earlier}


def test_a_jump_of_the_stores_clock_ends_no_lease() -> None:
    fleet = settled()
    later = fleet.now + 10_000
    jumped = after_jumps(fleet.enumerator, [ClockJump(number=1, by_ms=10_000, noticed_ms=later)])

    work = Work(jumped, later)
    at_once(end_leases(work, Now(work.now_ms)))
    assert len(work.readers) == 2
    work = Work(fleet.enumerator, later)
    at_once(end_leases(work, Now(work.now_ms)))
    assert not work.readers
