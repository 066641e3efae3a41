"""The lease of a reader's splits, by the reader's own clock. Pure.

**The rule.** The coordinator gives a reader's splits to another one a lease L after it received the
reader's last exchange, by its own clock, and never before. The reader hands out nothing from

    the time at which it sent the last exchange that was answered  +  L · (1 − r)

on, by its own monotonic clock. r is how much faster or slower one clock may run than the other one.

**Why that is enough.** Let s be the time at which the exchange was sent and e ≥ s that at which it
was received, both by a third clock of true time. A clock whose rate is within r/2 of true time
shows L · (1 − r) after at most L · (1 − r) / (1 − r/2) ≤ L · (1 − r/2) of it. The other one shows L
after at least L / (1 + r/2) ≥ L · (1 − r/2). So the reader stops at s + L · (1 − r/2) at the
latest, and its splits are free at e + L · (1 − r/2) at the earliest. Neither the offset of the
clocks nor the way of the messages takes part.

**What it assumes.** Both clocks are monotonic, go on while the process is stopped or the machine
sleeps, and run within r of each other. Quartz is off by 0.0001 and NTP's slewing by 0.0005 at the
most (RFC 5905, 11.3); r is 0.01. The clock of the coordinator's store may be set: a jump forward
lengthens leases (`lockgate.group.clock_jumps`), and one back ends none early.

**Over, and again.** Once the lease is over another reader may have the splits. So nothing is handed
out before an exchange was answered that was sent since then, and then only of splits that the
answer leaves to this reader. A coordinator that waits for survivors of a lost history does not know
yet who has them: its answer begins no lease again.

A process may be stopped between its last look at the clock and the next line of the user's
program. No clock can close this gap. The number of the assignment can: it is in every record, and
a store that takes no number below the highest one that it has seen refuses the late write.
"""

from dataclasses import dataclass
from math import inf

RATE_ERROR = 0.01
"""r: how much faster or slower the reader's clock may run than that of the coordinator's store."""


@dataclass(frozen=True, slots=True)
class SplitLease:
    """Until when a reader may hand out records of its splits, by its own clock in seconds.
    `sent_at`: when the exchange was sent that rules. `rate_error` is r.
    """

    until: float = -inf
    sent_at: float = -inf
    rate_error: float = RATE_ERROR

    def renewed(self, sent_at: float, lease_ms: int, now: float, *, settled: bool) -> "SplitLease":
        """Return the lease after an exchange that was sent at `sent_at` was answered by `now`.

        The exchange that was sent last decides, so a group with a shorter lease shortens this one.
        A lease that has ended begins again with an exchange that was sent since, if the coordinator
        is `settled`: it has not just lost its state of other readers.
        """
        if sent_at < self.sent_at or (self.is_over(now) and not (settled and sent_at >= self.until)):
            return self
        return SplitLease(sent_at + lease_ms / 1000 * (1 - self.rate_error), sent_at, self.rate_error)

    def is_over(self, now: float) -> bool:
        """Return whether nothing may be handed out at `now`."""
        return now >= self.until
