"""Producers that are so far behind that no split waits for them.

While a producer appends to a split, the split blocks the others at its last event time, however far
behind the clock that is. If a producer writes seconds instead of milliseconds, that event time is
in 1970, and the others would never be read again. So a split no longer blocks the others if both
conditions are true:

* Its producer is *far*: a record that was appended while the query ran was further behind the clock
  than `bound`, which is a day or more. A backlog does not count, so a replay is not affected,
  however old its records are.
* The next record of every split whose producer is not far is more than `bound` above this split's
  own next record. If a job writes old records to all partitions, the event times of all partitions
  are close together, and they stay aligned.

The rows of such a split are late, as they are without alignment.
"""

from collections.abc import Collection, Mapping

from lockgate.plan.model import Split

FAR_MS = 86_400_000


def far_behind(times: Mapping[Split, int], far: Collection[Split], bound: int = FAR_MS) -> frozenset[Split]:
    """Return those of the `far` splits that no longer block the others. `times` maps each split to
    the event time (ms) of its next record, or of its last one if all are read but the producer
    still appends.
    """
    others = min((time for split, time in times.items() if split not in far), default=None)
    if others is None:
        return frozenset()
    return frozenset(split for split in far if others - times[split] > bound)
