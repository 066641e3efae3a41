"""What the event stream of one reader says: its own splits where they have changed, and no more."""

from dataclasses import replace

from lockgate.enumerator.model import Enumerator, OwnedSplit, SplitOwner
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.steps import at_once
from lockgate_coordinator.api.split_stream import Levels

ME, OTHER = (0, 1), (1, 1)


def owned(partition: int, number: int = 5, offset: int = 0) -> OwnedSplit:
    return OwnedSplit(split=KafkaPartitionSplit("t", partition, offset), number=number, since=0)


def owner(*splits: OwnedSplit, revoked: frozenset[str] = frozenset()) -> SplitOwner:
    held = {each.split.split_id: each for each in splits}
    return SplitOwner(heard_at=0, lease_ms=1_000, held=held, revoked=revoked)


def said(levels: Levels, enumerator: Enumerator) -> list[str]:
    return [event for event, _ in at_once(levels.changed(enumerator))]


def test_reader_hears_of_its_own_splits_alone() -> None:
    levels = Levels(ME)
    first = Enumerator(began_at=0, revision=1, assigning_at=0, readers={ME: owner(owned(0)), OTHER: owner(owned(1))})
    assert said(levels, first) == ["add-splits", "is-processing-backlog"]
    others = replace(first, revision=2, readers={**first.readers, OTHER: owner(owned(1), owned(2))})
    assert said(levels, others) == []
    moved = replace(others, revision=3, readers={**others.readers, ME: owner(owned(0, offset=70))})
    assert said(levels, moved) == []


def test_reader_hears_of_new_numbers_revocations_and_its_lost_lease() -> None:
    levels = Levels(ME)
    changes: list[SplitOwner | None] = [
        owner(owned(0)),
        owner(owned(0, number=6)),
        owner(owned(0, number=6), revoked=frozenset({"t-0"})),
        owner(),
        None,
        owner(owned(0, number=9)),
    ]
    for revision, own in enumerate(changes):
        readers = {} if own is None else {ME: own}
        found = dict(
            at_once(levels.changed(Enumerator(began_at=0, revision=revision, assigning_at=0, readers=readers)))
        )
        news = found["add-splits"]
        assert isinstance(news, dict)
        assert news["revision"] == revision
        assert news["give_back"] == ([] if own is None else sorted(own.revoked))
