"""The result of a look at the last records of a source, which `KafkaSample.java` takes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sampled:
    """How many records there were, of how many the value is not null, of how many the event time is
    given. `value`: of one record; "" without one, "?" where it is no text.
    """

    looked: int
    valued: int
    timed: int
    value: str

    @classmethod
    def of(cls, line: str) -> "Sampled":
        """Out of what `KafkaSample.look` answers."""
        looked, valued, timed, value = line.split("\t", 3)
        return cls(int(looked), int(valued), int(timed), value)
