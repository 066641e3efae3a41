"""A summary of the last records of a source, made by `KafkaSample.java`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sampled:
    """How many records were looked at, how many of them have a value, and how many an event time.
    `value` is the value of one record: empty if none has one, and "?" if it is not text.
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
