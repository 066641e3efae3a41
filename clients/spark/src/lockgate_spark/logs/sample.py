"""A summary of the last records of a source, made by `KafkaSample.java`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sampled:
    """A summary of some records: how many were inspected (`looked`), how many of these have a value
    (`valued`), and how many have an event time (`timed`). `value` is the last value found, as text.
    It is empty if no record has a value, and "?" if the value is not UTF-8.
    """

    looked: int
    valued: int
    timed: int
    value: str

    @classmethod
    def of(cls, line: str) -> "Sampled":
        """Parse `line`, the summary that `KafkaSample.look` returns."""
        looked, valued, timed, value = line.split("\t", 3)
        return cls(int(looked), int(valued), int(timed), value)
