"""Consumers over the real Kafka."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lockgate_reader import AlignedConsumer
from lockgate_testbed.kafka import KafkaBroker


@pytest.fixture
def consumer_of(kafka: KafkaBroker) -> Iterator[Callable[..., AlignedConsumer]]:
    """Makes consumers that are closed after the test; from the first record on, unless said."""
    made: list[AlignedConsumer] = []

    def consumer(
        topics: str | list[str], kafka_settings: dict[str, Any] | None = None, **options: Any
    ) -> AlignedConsumer:
        options.setdefault("starting_offsets", "earliest")
        settings = {"bootstrap.servers": kafka.bootstrap, **(kafka_settings or {})}
        made.append(AlignedConsumer(topics, kafka=settings, **options))
        return made[-1]

    yield consumer
    for each in made:
        each.close()
