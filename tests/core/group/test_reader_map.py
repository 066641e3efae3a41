"""`Readers` against plain dicts, all versions at once."""

from hypothesis import given
from hypothesis import strategies as st

from lockgate.group.reader import Reader, ReaderKey, effective_watermark
from lockgate.group.readers import Ranking, Readers
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import ReportedWatermarkEvent

NUMBERS = st.sampled_from([MIN, -3, 0, 1, 2, 7, MAX])
reports = st.builds(
    ReportedWatermarkEvent,
    subtask=st.just(0),
    epoch=st.just(1),
    watermark=NUMBERS,
    idle=st.booleans(),
    finished=st.booleans(),
    reach=st.none() | NUMBERS,
    park_ms=st.none() | st.integers(1, 5),
)
readers = st.fixed_dictionaries(
    {
        "heard_at": st.integers(0, 9),
        "reported": st.none() | reports,
        "lost": st.booleans(),
        "held_since": st.none() | st.integers(0, 9),
        "overdue": st.booleans(),
        "passed_over": st.booleans(),
    }
).map(lambda values: Reader(epoch=1, **values))
keys = st.tuples(st.sampled_from("ab"), st.sampled_from([0, 1, 64, 4_096]))  # on one shelf, and on others
steps = st.lists(st.tuples(st.integers(0, 20), st.dictionaries(keys, st.none() | readers, max_size=4)), max_size=20)


def with_changes(before: dict[ReaderKey, Reader], changes: dict[ReaderKey, Reader | None]) -> dict[ReaderKey, Reader]:
    return {key: reader for key, reader in {**before, **changes}.items() if reader is not None}


def counting(model: dict[ReaderKey, Reader], *, with_lost: bool) -> dict[ReaderKey, tuple[int, int]]:
    """Watermark and reach of all that count."""
    found = {}
    for key, reader in model.items():
        if reader.reported is None or reader.passed_over or (reader.lost and not with_lost):
            continue
        watermark = effective_watermark(reader.reported)
        reach = MIN if reader.lost or reader.reported.reach is None else reader.reported.reach
        found[key] = (watermark, max(watermark, reach))
    return found


def check(version: Readers, model: dict[ReaderKey, Reader]) -> None:
    assert (len(version), dict(version), version.sources()) == (
        len(model),
        model,
        sorted({source for source, _ in model}),
    )
    running = {key: r for key, r in model.items() if r.reported is not None and not r.reported.finished and not r.lost}
    leased = {key: r.heard_at for key, r in running.items() if r.reported and r.reported.park_ms is None}
    parked = {
        key: r.heard_at + r.reported.park_ms
        for key, r in running.items()
        if r.reported and r.reported.park_ms is not None
    }
    held = {
        key: r.held_since
        for key, r in model.items()
        if r.reported and r.held_since is not None and not r.overdue and not r.lost
    }
    assert version.first(Ranking.HEARD) == min(leased.values(), default=None)
    assert sorted(version.until(Ranking.HEARD, 4)) == sorted(key for key, at in leased.items() if at <= 4)
    assert version.first(Ranking.PARKED) == min(parked.values(), default=None)
    assert sorted(version.until(Ranking.PARKED, 6)) == sorted(key for key, until in parked.items() if until <= 6)
    assert version.first(Ranking.HELD) == min(held.values(), default=None)
    assert sorted(version.until(Ranking.HELD, 4)) == sorted(key for key, since in held.items() if since <= 4)
    for with_lost in (False, True):
        count = counting(model, with_lost=with_lost)
        lowest = min((watermark for watermark, _ in count.values()), default=MAX)
        assert version.lowest_watermark(with_lost=with_lost) == lowest
        assert version.lowest_reach(with_lost=with_lost) == min((reach for _, reach in count.values()), default=MAX)
        standing = sorted(key for key, (watermark, _) in count.items() if watermark == lowest < MAX)
        assert version.at_watermark(lowest, 3, with_lost=with_lost) == tuple(standing[:3])
        assert sorted(version.up_to(1, with_lost=with_lost)) == sorted(
            key for key, (watermark, _) in count.items() if watermark <= 1
        )


@given(steps, st.lists(st.integers(0, 20), max_size=8))
def test_each_version_is_the_dict_that_was_made_of_it(
    script: list[tuple[int, dict[ReaderKey, Reader | None]]], asked: list[int]
) -> None:
    versions: list[tuple[Readers, dict[ReaderKey, Reader]]] = [(Readers(), {})]
    for which, changes in script:
        # also from one that is no longer the newest: a race that was lost
        version, model = versions[which % len(versions)]
        versions.append((version.updated(changes), with_changes(model, changes)))
        check(*versions[-1])
    for which in asked:
        check(*versions[which % len(versions)])
    for newer, model in versions:
        for older, other in versions:
            differ = {key for key in {**model, **other} if model.get(key) is not other.get(key)}
            moved = newer.moved_since(older)
            assert (len(moved), {key for key, _, _ in moved}) == (len(differ), differ)
            assert all(older.get(key) is was and newer.get(key) is now for key, was, now in moved)
    for version, model in versions:
        assert all(
            version.get((source, subtask)) == model.get((source, subtask)) for source in "ab" for subtask in range(4)
        )


def test_a_change_among_many_copies_one_shelf_and_shares_the_others() -> None:
    many = Readers.of({("s", subtask): reporting(subtask) for subtask in range(10_000)})
    newer = many.updated({("s", 5): reporting(20_000)})
    shared = [number for number, shelf in newer._shelves.items() if shelf is many._shelves[number]]
    assert len(shared) == len(many._shelves) - 1 > 1
    assert [key for key, _, _ in newer.moved_since(many)] == [("s", 5)]
    assert newer.at_watermark(0, 8, with_lost=False) == (("s", 0),)


def reporting(watermark: int) -> Reader:
    return Reader(epoch=1, heard_at=watermark, reported=ReportedWatermarkEvent(subtask=0, epoch=1, watermark=watermark))
