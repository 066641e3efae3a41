"""The queries of the benchmark: topics of unequal density, sinks of unequal speed."""

from dataclasses import dataclass

from lockgate_testbed.skew import SkewedTopic

WEIGHTS = (1.0, 2.0, 4.0)


@dataclass(frozen=True, slots=True)
class Reading:
    """One query: it reads `topic` in batches of at most `budget` records, into a sink that takes
    `per_second` records a second.
    """

    topic: SkewedTopic
    budget: int
    per_second: float

    @property
    def name(self) -> str:
        """The name of the query, and of its topic."""
        return self.topic.name


# Share of the densest topic's records, batches that a day takes, time that its sink needs for all
# of it.
_SHAPES = {
    2: ((1.0, 24, 0.4), (0.1, 8, 1.0)),
    8: (
        (1.0, 24, 0.5),
        (0.5, 12, 0.25),
        (0.5, 24, 0.75),
        (0.2, 8, 0.15),
        (0.2, 16, 1.0),
        (0.1, 12, 0.3),
        (0.05, 8, 0.8),
        (0.05, 24, 0.15),
    ),
}


def fleet(size: int, records: int, seconds: float) -> list[Reading]:
    """`size` queries over a day each: `records` in the densest topic, `seconds` that the slowest
    sink needs for its own.
    """
    return [
        Reading(
            SkewedTopic(f"of-{size}-{n}", weights=WEIGHTS, records=int(records * share)),
            budget=max(1, int(records * share / batches)),
            per_second=records * share / (seconds * time),
        )
        for n, (share, batches, time) in enumerate(_SHAPES[size])
    ]
