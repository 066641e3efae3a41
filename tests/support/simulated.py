"""The demo's topic as a workload to simulate."""

from dataclasses import replace

from lockgate.simulate.workload import QueryLoad, SplitLoad, Stretch, Workload
from lockgate_testbed.skew import HOUR_MS, SkewedTopic


def splits_of(topic: SkewedTopic) -> tuple[SplitLoad, ...]:
    return tuple(
        SplitLoad(f"{topic.name}-{partition}", (Stretch(count, *topic.span_ms(partition)),) if count else ())
        for partition, count in enumerate(topic.counts())
    )


def demo_group(records: int, batches_of_slow: int) -> Workload:
    """Act three: the same count twice in a strict group, one of them in small batches."""
    (fast,) = demo_workload(records).queries
    slow = replace(fast, name="slow", budget=max(1, records // batches_of_slow), delay_ms=HOUR_MS)
    return Workload(queries=(replace(fast, delay_ms=HOUR_MS), slow), joint=False)


def demo_workload(records: int) -> Workload:
    """Acts one and two of `make demo`: a windowed count in batches of a tenth of the topic."""
    topic = SkewedTopic("orders", records=records, empty=True, late_start_hours=6.0)
    query = QueryLoad(
        name="count",
        splits=splits_of(topic),
        records_per_second=200_000.0,
        delay_ms=600_000,
        window_ms=HOUR_MS,
        budget=max(1, records // 10),
    )
    return Workload(queries=(query,))
