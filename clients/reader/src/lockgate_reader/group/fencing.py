"""The lease of a reader's splits, measured by the reader's own clock. This module does no I/O.

**The rule.** An exchange is a request in which the reader lists its splits (`joined`). The
coordinator assigns these splits to another reader no earlier than a time L, the length of the
lease, after it received the reader's last exchange. It measures L by its own clock. The reader
measures time by its own monotonic clock, and returns no record at or after this deadline:

    deadline = t + L · (1 − r)

Here, t is the time at which the reader sent the last exchange that was answered, and r is how much
faster or slower one of the two clocks may run than the other.

**Why that is enough.** Let s be the true time at which the exchange was sent, and e ≥ s the true
time at which it was received. A clock whose rate is within r/2 of the true rate shows L · (1 − r)
after a true time of at most L · (1 − r) / (1 − r/2) ≤ L · (1 − r/2). Such a clock shows L after a
true time of at least L / (1 + r/2) ≥ L · (1 − r/2). So the reader stops at s + L · (1 − r/2) at the
latest, and the coordinator assigns its splits to others at e + L · (1 − r/2) at the earliest.

**What it assumes.** Both clocks are monotonic, and keep running while the process is suspended or
the machine sleeps. Quartz clocks are off by at most 0.0001, and NTP slews clocks by at most 0.0005
(RFC 5905, 11.3); r is 0.01. If the clock of the coordinator's store jumps forward, leases become
longer (`lockgate.group.clock_jumps`). If it jumps back, no lease ends early.

**After the lease has ended**, no record is returned until the coordinator has answered an exchange
that was sent after the end. A coordinator that has lost its data cannot tell which readers have
which splits, so its answer does not renew a lease that has ended.

**The remaining gap.** A process may be suspended after it has checked its clock, and before the
next line of the user's program runs. No clock can close this gap, but the user's database can: it
rejects writes whose fencing token (`AlignedConsumer.number_of`) is lower than the highest one that
it has seen.
"""

from dataclasses import dataclass
from math import inf

RATE_ERROR = 0.01
"""r: the fraction by which the clock rates of the reader and the coordinator's store may differ."""


@dataclass(frozen=True, slots=True)
class SplitLease:
    """The lease of a reader's splits, in seconds of the reader's own clock. No record may be
    returned at or after `until`, a deadline that the request of `sent_at` has set.
    """

    until: float = -inf
    sent_at: float = -inf

    def renewed(self, sent_at: float, lease_ms: int, now: float, *, settled: bool) -> "SplitLease":
        """Return the lease after a response at `now` to the request of `sent_at`. It may end
        earlier than the current one. `settled` is False if the coordinator has just lost its record
        of split owners.
        """
        if sent_at < self.sent_at or (self.is_over(now) and not (settled and sent_at >= self.until)):
            return self
        return SplitLease(sent_at + lease_ms / 1000 * (1 - RATE_ERROR), sent_at)

    def is_over(self, now: float) -> bool:
        return now >= self.until
