"""Lengths of time, to the nanosecond.

Flink counts a watermark's delay in milliseconds, and cuts off anything finer. It counts an idle
timeout in nanoseconds, at most 2⁶³ − 1 (292 years). Both come from one `java.time.Duration`; here
from one `Duration`.

Used by the generators, the idleness timer, the strategies and the text form of a strategy.
"""

from dataclasses import dataclass

from lockgate.errors import InvalidValue
from lockgate.watermark import MAX

NANOS_PER_MILLI = 1_000_000
NANOS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time in nanoseconds. It may be negative; a function that takes one says whether
    that is allowed.
    """

    nanos: int

    @classmethod
    def of(cls, *, seconds: int = 0, ms: int = 0, nanos: int = 0) -> "Duration":
        """The sum of its arguments."""
        return cls(seconds * NANOS_PER_SECOND + ms * NANOS_PER_MILLI + nanos)

    def to_millis(self, field: str) -> int:
        """Whole milliseconds, cut off below. Raises `InvalidValue`, naming `field`, beyond 64 bits
        (Java: ArithmeticException).
        """
        millis = self.nanos // NANOS_PER_MILLI
        if abs(millis) > MAX:
            raise InvalidValue(field, f"must fit into 64 bits of milliseconds, not {millis}")
        return millis

    def to_nanos(self) -> int:
        """Nanoseconds, at most 2⁶³ − 1."""
        return min(self.nanos, MAX)

    def __str__(self) -> str:
        millis, rest = divmod(self.nanos, NANOS_PER_MILLI)
        return f"{self.nanos} ns" if rest else f"{millis} ms"
