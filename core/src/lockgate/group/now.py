"""The present time by which a group's rules are evaluated, with one process's stalls and jumps.

`ms` is the time of the store, which all processes share. A process adds two findings of its own:

* `stalls`: the spans in which its event loop stood still, because one request took long, or the
  system had stopped the process. Meanwhile reports waited in its sockets, so afterwards the readers
  look silent although none of them was.
* `jumps`: the forward jumps of the store's clock for which the group's times have yet to be moved
  (see `clock_jumps`).

**Stalls end no lease.** A lease is `lease_ms` of time in which the process that judges it was able
to receive reports. To judge a lease, the process counts back from now until it has found `lease_ms`
of such time. A reader that last reported at or before that moment is lost. Without a stall, that
moment is `ms - lease_ms`. So the rules compare the end of a lease with `judged_ms`, which is that
moment plus the lease. Parking, long waits and the grace of a new group are judged in the same way.

**Why this is safe.** The rule only lengthens leases, by no more than the stalls since the reader's
last report. A dead reader is lost after one lease of time in which the process ran, however often
it stands still. Each process allows only for its own stalls. If another process has
stalled for longer than a lease, its readers are judged lost: waiting for that process would block
all readers for another lease after each death of a process. `leases` contains the rule for a
silence of all readers, which needs no stall.
"""

from dataclasses import dataclass

Span = tuple[int, int]
"""The first millisecond of a span, and the first one after it."""


@dataclass(frozen=True, slots=True)
class ClockJump:
    """A forward jump of the store's clock by at most `by_ms`, noticed at `noticed_ms`.

    `noticed_ms` is in the store's time. `number` counts the jumps that one process has noticed,
    from 1.
    """

    number: int
    by_ms: int
    noticed_ms: int


@dataclass(frozen=True, slots=True)
class Now:
    """A moment of the store's time (`ms`), with the stalls and clock jumps of one process.

    `stalls` are spans of the store's time, oldest first. None lies within another, and the last one
    may end in the future.
    """

    ms: int
    stalls: tuple[Span, ...] = ()
    jumps: tuple[ClockJump, ...] = ()

    def judged_ms(self, span_ms: int) -> int:
        """Return the latest end (ms) at which a lease or wait of `span_ms` is already over.

        Without stalls, this is `ms`. Each stall within the last `span_ms` of the process's running
        time makes it earlier by the length of the stall.
        """
        if not self.stalls:
            return self.ms
        ran_from, left = self.ms, span_ms
        for began, ended in reversed(self.stalls):
            if began >= ran_from:
                continue
            ran = max(0, ran_from - ended)
            if ran >= left:
                break
            ran_from, left = began, left - ran
        return ran_from - left + span_ms

    def ends_ms(self, end_ms: int, span_ms: int) -> int:
        """Return the time (ms) at which `judged_ms` reaches `end_ms` if no more stalls occur."""
        since = end_ms - span_ms
        for began, ended in self.stalls:
            if since < ended and began < end_ms:
                end_ms += ended - max(began, since)
        return end_ms
