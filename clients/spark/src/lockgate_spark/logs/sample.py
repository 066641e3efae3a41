"""A summary of the last records of a source, made by `KafkaSample.java`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sampled:
    """A summary of some records: how many were inspected (`looked`), how many of them have a value
    (`valued`), and how many have an event time (`timed`). `value` is the value of one record. It is
    empty if none has one, and "?" if it is not text.
    """

    looked: int
    valued: int
    timed: int
    value: str

    @classmethod
    def of(cls, line: str) -> "Sampled":
        """Return the summary in a line of `KafkaSample.look`."""
        looked, valued, timed, value = line.split("\t", 3)
        return cls(int(looked), int(valued), int(timed), value)
