"""Histories, by which a process notices that Redis has lost states that it had returned before.

Redis goes back in time when a replica that lags is promoted, when a dump is restored, or when it
restarts from an old file. Connections may stay open meanwhile. Redis then continues from the older
state, and its versions alone do not show that. So a process must discard what it remembers of the
lost history, and not mix it with what it reads.

**Marks.** Each commit leaves a mark, VERSION/SERIES. A *series* is a sequence of commits of one
process, in which each is made upon the previous one, which Redis has confirmed. The first commit of
a series gives it a name that no process has used before. A commit begins a new series if the state
is that of another process, or if the outcome of the process's last commit is not known. Redis keeps
the mark of the state, and the names of ended series with the last version of each.

**What a mark proves.**

1. *A mark names one state.* A series names one process, which tries at most one commit for each
   version of it. The commit is accepted upon one mark alone, that of the state that it was computed
   from. So two servers with the same mark hold the same state, whatever else they have taken.
2. *A commit is accepted upon the very state that it was computed from.* The script compares the
   whole mark; by 1 the states are the same.
3. *Changes are merged into a state that they were made from.* Redis returns what has changed since
   the mark v/s only in two cases: if s is the series of its own mark w/s, and v <= w, or if s is a
   series that has ended with a version w >= v. In both cases Redis's state was made from the state
   w/s. The commits of s are a sequence by construction, so w/s was made from v/s. The changed
   readers are those with a version above v. In all other cases Redis returns the whole group.

So two replicas that have diverged after one mark are not mistaken for each other, because their
next commits are in different series, or are one commit that both have. The method does not rely on
connections, clocks or the order of versions, and adds no round trip.

**What is not detected.** A deleted group leaves a version without a series, as does an operator who
changes only the version by hand. Redis forgets an ended series after an hour, or after
`SERIES_KEPT` versions, and a process that is further behind reads the whole group.
"""

from typing import Final

SERIES_KEPT: Final = 60_000
"""The number of versions, which are about ms, after which Redis forgets an ended series."""

NOTHING: Final = "0/"
"""The mark of a group that a process has not seen."""


def mark(version: int, series: str) -> str:
    return f"{version}/{series}"


def parts(text: str) -> tuple[int, str]:
    """Return the version and the series of a mark."""
    version, _, series = text.partition("/")
    return int(version), series
