"""A summary of the last records of a source, made by `KafkaSample.java`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sampled:
    """Figures about some records of a source.

    Attributes:
        looked: The number of records.
        valued: How many of them have a value.
        timed: How many of them have an event time.
        value: The value of one record: empty if none has a value, and "?" if it is not text.
    """

    looked: int
    valued: int
    timed: int
    value: str

    @classmethod
    def of(cls, line: str) -> "Sampled":
        """Make it from the answer of `KafkaSample.look`."""
        looked, valued, timed, value = line.split("\t", 3)
        return cls(int(looked), int(valued), int(timed), value)
