"""The lease of a reader's splits, measured by the reader's own clock. Pure.

**The rule.** The coordinator assigns a reader's splits to another one no earlier than a lease L
after it received the reader's last exchange, by its own clock. The reader returns no record from

    the time at which it sent the last exchange that was answered  +  L · (1 − r)

on, by its own monotonic clock. r is how much faster or slower one clock may run than the other one.

**Why that is enough.** Let s be the time at which the exchange was sent and e ≥ s that at which it
was received, both by a third clock of true time. A clock whose rate is within r/2 of true time
shows L · (1 − r) after at most L · (1 − r) / (1 − r/2) ≤ L · (1 − r/2) of it. The other one shows L
after at least L / (1 + r/2) ≥ L · (1 − r/2). So the reader stops at s + L · (1 − r/2) at the
latest, and its splits are free at e + L · (1 − r/2) at the earliest.

**What it assumes.** Both clocks are monotonic, and go on while the process is stopped or the
machine sleeps. Quartz is off by at most 0.0001, and NTP slews clocks by at most 0.0005 (RFC 5905,
11.3); r is 0.01. The clock of the coordinator's store may be set: a jump forward lengthens leases
(`lockgate.group.clock_jumps`), and a jump back ends none early.

**After the lease**, no record is returned until the coordinator has answered an exchange that was
sent after its end. A coordinator that has lost its history does not know which readers hold which
splits, so its answer does not renew a lease that is over.

A process may be stopped between its last look at the clock and the next line of the user's program.
No clock can close this gap, but a store can: it rejects numbers (`number_of`) below the highest
one.
"""

from dataclasses import dataclass
from math import inf

RATE_ERROR = 0.01
"""r: how much faster or slower the reader's clock may run than that of the coordinator's store."""


@dataclass(frozen=True, slots=True)
class SplitLease:
    """The lease of a reader's splits, by its own clock in seconds. No record may be returned at or
    after `until`, which the exchange sent at `sent_at` has set. `rate_error` is r.
    """

    until: float = -inf
    sent_at: float = -inf
    rate_error: float = RATE_ERROR

    def renewed(self, sent_at: float, lease_ms: int, now: float, *, settled: bool) -> "SplitLease":
        """Return the lease after the answer at `now` to an exchange that was sent at `sent_at`.

        A group with a shorter lease shortens this one. A lease that is over is renewed only if the
        exchange was sent after its end, and the coordinator is `settled`: it has not just lost its
        state of other readers.
        """
        if sent_at < self.sent_at or (self.is_over(now) and not (settled and sent_at >= self.until)):
            return self
        return SplitLease(sent_at + lease_ms / 1000 * (1 - self.rate_error), sent_at, self.rate_error)

    def is_over(self, now: float) -> bool:
        """Return whether no record may be returned at `now`."""
        return now >= self.until
