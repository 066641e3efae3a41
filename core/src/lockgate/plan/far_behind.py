"""Producers that are so far behind that no split waits for them.

While a producer appends to a split, the split blocks the others at its last event time, however far
behind the clock that event time is. If a producer writes seconds instead of milliseconds, the event
time is in 1970, and the other splits would never be read again. So a split no longer blocks the
others if both conditions are true:

* Its producer is *far*: a record that was appended while the query ran was further behind the clock
  than `bound`, which is a day or more. A backlog does not count, so a replay is not affected,
  however old its records are.
* The next record of every split whose producer is not far is later than this split's next record by
  more than `bound`. If a job writes old records to all partitions, the event times of all
  partitions are close together, and the partitions stay aligned.

The rows of a split that no longer blocks the others are late, as they are without alignment.
"""

from collections.abc import Collection, Mapping

from lockgate.plan.model import Split

FAR_MS = 86_400_000


def far_behind(times: Mapping[Split, int], far: Collection[Split], bound: int = FAR_MS) -> frozenset[Split]:
    """Return the `far` splits that are more than `bound` (ms) behind all splits not in `far`.

    These splits no longer block the others. There are none if all splits are `far`. `times` maps
    each split to the event time (ms) of its next record, or of its last one if all are read but the
    producer still appends.
    """
    others = min((time for split, time in times.items() if split not in far), default=None)
    if others is None:
        return frozenset()
    return frozenset(split for split in far if others - times[split] > bound)
