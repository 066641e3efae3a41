"""A reader that presents what it was not given gets nothing, and harms no other reader."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from core.enumerator.fleet import Fleet, assigned
from core.enumerator.test_exchanges import settled
from lockgate.wire.split_events import DiscoveredSplits, SplitExchange
from support.examples import examples
from support.exchanging import exchange

FAR = 2**62
DISTANCES = st.sampled_from([-1_000_000, -500, -1, 0, 1, 2, 59_000, 10**9, FAR])
CLAIMS = st.tuples(st.sampled_from(["held", "given_back", "finished"]), st.integers(0, 9), DISTANCES)
LIES = st.tuples(st.lists(CLAIMS, max_size=4, unique_by=lambda claim: claim[1]), st.none() | DISTANCES)


def lie(fleet: Fleet, claims: list[tuple[str, int, int]], seen: int | None) -> SplitExchange:
    """Claims to splits, by their distance from the number that each has."""
    known = {id: each.number for reader in fleet.enumerator.readers.values() for id, each in reader.held.items()}
    splits = {
        kind: tuple(
            assigned(part, max(1, known.get(f"orders-{part}", fleet.now) + by), 10**6, restored=True)
            for of, part, by in claims
            if of == kind
        )
        for kind in ("held", "given_back", "finished")
    }
    return SplitExchange(
        epoch=fleet.processes[-1].epoch,
        capacity=0,
        seen=None if seen is None else max(0, fleet.enumerator.revision + seen),
        discovered=DiscoveredSplits(splits=(), bounded=True, request=fleet.now),
        discovery_interval_ms=0,
        **splits,
    )


@examples(100)
@given(st.lists(LIES, min_size=1, max_size=12))
def test_no_claim_that_is_made_up_takes_moves_or_ends_a_split(
    lies: list[tuple[list[tuple[str, int, int]], int | None]],
) -> None:
    fleet = settled(partitions=4, readers=2)
    liar = fleet.start(2, capacity=0)
    honest = [replace(process, held=dict(process.held)) for process in fleet.processes[:2]]
    began = fleet.now
    for claims, seen in [*lies, ([], None), ([], None)]:  # and until the splits are listed again
        message = lie(fleet, claims, seen)
        fleet.enumerator = exchange(fleet.enumerator, (2, liar.epoch), message, fleet.now).enumerator
        fleet.now += 50
        for process in fleet.processes[:2]:
            fleet.exchange(process)
            fleet.check()
    assert [process.held for process in fleet.processes[:2]] == [process.held for process in honest]
    assert sorted(fleet.enumerator.ids()) == [f"orders-{number}" for number in range(4)]
    assert not fleet.enumerator.finished
    assert not fleet.enumerator.bounded
    assert began <= fleet.enumerator.revision + 5_000 <= fleet.now + 5_000
    assert fleet.enumerator.last_number <= fleet.now
