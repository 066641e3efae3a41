"""The lease of a reader's splits, measured by the reader's own clock. This module does no I/O.

The coordinator assigns the splits to another reader no earlier than the time L, by its own clock,
after it received the reader's last exchange. The reader returns no record at or after the deadline
t + L · (1 − r) of its own monotonic clock, where t is the time at which it sent the last exchange
that was answered. A clock whose rate is within r/2 of the true one shows L · (1 − r) after a true
time of at most L · (1 − r/2), and L after one of at least that. So the reader has stopped before.
docs/internals/protocol.md ("Leases and fencing of splits") says what this assumes.

A process may be suspended after it has checked its clock, and before the next line of the user's
program runs. Only the user's database can close this gap, by fencing tokens
(`AlignedConsumer.number_of`).
"""

from dataclasses import dataclass
from math import inf

RATE_ERROR = 0.01
"""r: the fraction by which the clock rates of the reader and the coordinator's store may differ."""


@dataclass(frozen=True, slots=True)
class SplitLease:
    """A lease, in seconds of the reader's own clock. No record may be returned at or after `until`,
    a deadline that the request of `sent_at` has set.
    """

    until: float = -inf
    sent_at: float = -inf

    def renewed(self, sent_at: float, lease_ms: int, now: float, *, settled: bool) -> "SplitLease":
        """Return the lease after a response at `now` to the request of `sent_at`. A lease that has
        ended is renewed only by a later request, if the coordinator knows all owners (`settled`).
        """
        if sent_at < self.sent_at or (self.is_over(now) and not (settled and sent_at >= self.until)):
            return self
        return SplitLease(sent_at + lease_ms / 1000 * (1 - RATE_ERROR), sent_at)

    def is_over(self, now: float) -> bool:
        return now >= self.until
