import pytest

from lockgate_testbed.skew import HOUR_MS, T0_MS, SkewedTopic


def test_counts_follow_the_weights_and_add_up() -> None:
    topic = SkewedTopic("t", weights=(1, 1, 2), records=10)

    assert topic.counts() == [2, 2, 6]


def test_all_partitions_cover_the_same_span() -> None:
    topic = SkewedTopic("t", weights=(1, 3), records=400, span_hours=24)

    assert [topic.event_time(partition, 0) for partition in (0, 1)] == [T0_MS, T0_MS]
    assert [topic.event_time(partition, count - 1) // HOUR_MS for partition, count in enumerate(topic.counts())] == [
        T0_MS // HOUR_MS + 23
    ] * 2


def test_event_time_never_goes_back() -> None:
    topic = SkewedTopic("t", weights=(1, 3), records=1_000, span_hours=0.0001)
    times = [topic.event_time(1, offset) for offset in range(topic.counts()[1])]

    assert times == sorted(times)


def test_the_first_partition_may_be_empty() -> None:
    topic = SkewedTopic("t", weights=(1, 1, 2), records=9, empty=True)

    assert topic.counts()[0] == 0
    assert sum(topic.counts()) == 9


def test_the_last_partition_may_start_late_at_its_usual_density() -> None:
    topic = SkewedTopic("t", weights=(1, 1), records=700, span_hours=24, late_start_hours=6)

    assert topic.event_time(1, 0) == T0_MS + 6 * HOUR_MS
    assert topic.counts() == [400, 300]


def test_all_partitions_but_one_may_start_late() -> None:
    topic = SkewedTopic("t", weights=(1, 24, 24), records=72, span_hours=24, late_start_hours=23, late_partitions=2)

    assert max(topic.counts()) - min(topic.counts()) <= 3
    assert [topic.event_time(partition, 0) for partition in range(3)] == [
        T0_MS,
        T0_MS + 23 * HOUR_MS,
        T0_MS + 23 * HOUR_MS,
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"late_start_hours": 24},
        {"late_partitions": 9},
        {"value_bytes": 10},
        {"records": -1},
        {"weights": (1.0,), "empty": True},
    ],
)
def test_fields_that_do_not_fit_together_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        SkewedTopic("t", **fields)  # type: ignore[arg-type]


def test_an_offset_that_is_not_there_has_no_event_time() -> None:
    with pytest.raises(IndexError, match="t-0 holds 5 records, not offset 5"):
        SkewedTopic("t", weights=(1, 1), records=10).event_time(0, 5)
