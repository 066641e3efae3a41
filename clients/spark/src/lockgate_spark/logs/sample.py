"""A summary of the last records of a source, made by `KafkaSample.java`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sampled:
    """The numbers of records that were inspected (`looked`), that have a value (`valued`), and that
    have an event time (`timed`). `value` is the value of one record: empty if none has one, and "?"
    if it is not text.
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
