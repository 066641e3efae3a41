"""The history of commits, which shows a process whether Redis has lost states that it had returned.

Redis goes back in time when a replica that lags is promoted, when a dump is restored, or when it
restarts from an old file. Connections may stay open meanwhile. Redis then continues from the older
state, and its versions alone do not show that. So a process must discard the states that it
remembers from the lost history, and not mix them with the states that it reads.

**Marks.** Each commit leaves a mark, VERSION/SERIES. A *series* is a sequence of commits of one
process. Each of them is based on the previous one, which Redis has confirmed. The first commit of a
series gives it a name that no process has used before. A commit begins a new series if it is based
on a state of another process, or if the outcome of the process's last commit is not known. Redis
keeps the mark of the state, and the names of ended series with their last versions.

**What a mark proves.**

1. *A mark names one state.* A series belongs to one process, which tries at most one commit for
   each version of it. Redis accepts that commit only if the mark in Redis is that of the state from
   which the commit was computed. So two servers with the same mark hold the same state, whatever
   other commits they have accepted.
2. *A commit is accepted only on the state from which it was computed.* The script compares the
   whole mark, and by 1 the states are the same.
3. *Changes are merged only into the state on which they are based.* Redis returns the changes since
   a mark v/s in two cases only: if s is the series of its own mark w/s, and v <= w, or if s is a
   series that has ended with a version w >= v. In both cases Redis's state is based on the state
   w/s. The commits of s are a sequence by construction, so w/s is based on v/s. The changed readers
   are those with a version above v. In all other cases Redis returns the whole group.

So two replicas that have diverged after one mark are not mistaken for each other, because their
next commits are in different series, or are the same commit. The method does not rely on
connections, clocks or the order of versions, and adds no round trip.

**Servers.** A process that has just started remembers no mark, and commits of other processes may
be lost that it has never seen. Therefore each commit also stores which server has accepted it: its
run and its last promotion, as `INFO` has them. Another server may lack later commits
(`State.lost`), and refuses a commit on a state from the former one.

**What marks do not show.** Some states have a version but no series: a deleted group, and a group
whose version an operator has changed by hand. Two such states with the same version are not
distinguished. Redis forgets an ended series after an hour, or after `SERIES_KEPT` versions. A
process that remembers a state of such a series reads the whole group, and does not notice whether
commits were lost.
"""

from typing import Final

SERIES_KEPT: Final = 60_000
"""The difference in versions (about ms) after which Redis forgets an ended series."""

NOTHING: Final = "0/"
"""The mark of a group that a process has not seen."""


def mark(version: int, series: str) -> str:
    return f"{version}/{series}"


def parts(text: str) -> tuple[int, str]:
    """Return the version and the series of a mark."""
    version, _, series = text.partition("/")
    return int(version), series
