"""Hearing: time in which a process hears no reader counts against no lease.

The rule. A lease is `lease_ms` of *hearing*: of time in which the process that judges it was able
to take reports. A process whose event loop stands still is deaf. It may be at work for one heavy
request, or the system may have stopped it. Meanwhile reports wait in its sockets, and afterwards
the readers look silent, though none of them was. So spans in which the process was deaf are left
out where it judges how long ago something was: leases, parking, long waits, the grace of a new
group.

To judge a lease at `now_ms` is to go back from there over `lease_ms` of hearing. A reader that was
heard at that moment or before is lost. Without a deaf span that moment is `now_ms - lease_ms`. So
a rule that asks what has ended by now asks it of `judged_ms`, which is that moment plus the lease.

Why this is safe. The rule only lengthens leases, by no more than the process was deaf since the
reader's last report. A dead reader is lost after one lease of hearing, however often the process
stands still. Several processes may share a store. Each leaves out its own deaf spans alone: a
process that hears all the time is right about the readers that it hears. It takes readers for lost
whose only process has been deaf for longer than a lease; to wait for that process would hold all
readers for another lease after each death of a process. `leases` has the rule for a silence of all
readers, which needs no deaf process.

Flink has no leases. Used by `leases`, `long_waits`, `commands` and `alignment`; the coordinator
notices the spans.
"""

from dataclasses import dataclass

Span = tuple[int, int]
"""Its first millisecond, and the first one after it."""


@dataclass(frozen=True, slots=True)
class Hearing:
    """The spans in which one process was deaf, in ms of the store's time: oldest first, none within
    another. The last one may end in the future.
    """

    deaf: tuple[Span, ...] = ()

    def judged_ms(self, now_ms: int, span_ms: int) -> int:
        """By which time the end of something that takes `span_ms` is judged at `now_ms`: `now_ms`
        less the deaf time within the last `span_ms` of hearing.
        """
        if not self.deaf:
            return now_ms
        heard_from, left = now_ms, span_ms
        for began, ended in reversed(self.deaf):
            if began >= heard_from:
                continue
            heard = max(0, heard_from - ended)
            if heard >= left:
                break
            heard_from, left = began, left - heard
        return heard_from - left + span_ms

    def ends_ms(self, end_ms: int, span_ms: int) -> int:
        """Return the first time at which `judged_ms` is `end_ms`, if the process is not
        deaf again.
        """
        since = end_ms - span_ms
        for began, ended in self.deaf:
            if since < ended and began < end_ms:
                end_ms += ended - max(began, since)
        return end_ms


ALWAYS = Hearing()
"""A process that has never been deaf."""
