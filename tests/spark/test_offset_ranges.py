"""Ranges of offsets that are read in few rounds."""

from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from lockgate_spark.offset_ranges import Range, records, rounds

ENDS = st.lists(st.integers(0, 10**7), min_size=2, max_size=60, unique=True).map(sorted)


@st.composite
def ranges(draw: st.DrawFn) -> list[Range]:
    """Of two partitions, none over another."""
    found = []
    for partition in (0, 1):
        ends = draw(ENDS)
        found += [Range("t", partition, *each) for each in zip(ends[::2], ends[1::2], strict=False)]
    return draw(st.permutations(found))


def covered(found: list[Range], partition: int) -> set[tuple[int, int]]:
    return {(each.start, each.end) for each in found if each.partition == partition}


@given(ranges())
def test_rounds_hold_all_ranges_with_one_of_each_partition_at_once(found: list[Range]) -> None:
    made = rounds(found)
    assert len(made) <= 8
    for each in made:
        assert len({one.partition for one in each}) == len(each)
    for one in found:
        holding = [each for turn in made for each in turn if each.partition == one.partition]
        assert sum(each.start <= one.start and one.end <= each.end for each in holding) == 1


@given(ranges())
def test_few_ranges_stay_as_they_are(found: list[Range]) -> None:
    made = [each for turn in rounds(found) for each in turn]
    for partition in (0, 1):
        if len(covered(found, partition)) <= 8:
            assert covered(made, partition) == covered(found, partition)


def test_nearest_ranges_of_a_partition_become_one() -> None:
    found = [Range("t", 0, 100_000 * n, 100_000 * n + 1) for n in range(8)] + [Range("t", 0, 50, 60)]
    made = {(each.start, each.end) for turn in rounds(found) for each in turn}
    assert made == {(0, 60)} | {(100_000 * n, 100_000 * n + 1) for n in range(1, 8)}


def test_no_ranges_give_kafka_s_columns_and_leave_the_active_session(spark: SparkSession) -> None:
    spark.createDataFrame([], "n INT")  # makes this the active session
    rows = records(spark.newSession(), {"includeHeaders": "true"}, [])
    assert [f"{name}: {kind}" for name, kind in rows.dtypes][3:] == [
        "partition: int",
        "offset: bigint",
        "timestamp: timestamp",
        "timestampType: int",
        "headers: array<struct<key:string,value:binary>>",
    ]
    assert rows.count() == 0
    assert SparkSession.active() is spark
