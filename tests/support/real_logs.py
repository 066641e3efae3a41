"""The logs of topics that tests fill, as a `KafkaSplitLog` gives them: event times in s after T0,
splits as p0, p1, …
"""

from collections.abc import Callable

from lockgate.plan.model import Head
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import Offsets
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker

T0 = 1_767_225_600_000
Open = Callable[..., KafkaSplitLog]


def fill(kafka: KafkaBroker, topic: str, **logs: list[int]) -> Offsets:
    """Creates the topic with a log a partition (`p0=[…]`: event times in s after T0); gives the
    ends.
    """
    topics.create(kafka.bootstrap, topic, len(logs))
    append(kafka, topic, **logs)
    return {f"{topic}-{name[1:]}": len(times) for name, times in logs.items()}


def append(kafka: KafkaBroker, topic: str, **logs: list[int]) -> None:
    records = [(int(name[1:]), at(second), None, b"x") for name, times in logs.items() for second in times]
    topics.produce(kafka.bootstrap, topic, records)


def at(second: int) -> int:
    return second if second > 10**9 else T0 + 1_000 * second


def heads(topic: str, **found: tuple[int, int]) -> dict[str, Head]:
    return {f"{topic}-{name[1:]}": Head(offset, at(second)) for name, (offset, second) in found.items()}


def starts(ends: Offsets) -> Offsets:
    return dict.fromkeys(ends, 0)
