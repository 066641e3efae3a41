"""How far behind the clock each split's producer was seen to be, against what `idle_timeout` says.

A split that was read to its end at wall clock `t`, and whose next record has event time `e`, has got that record after `t`: so its
producer was at least `t − e` behind. That is no more than the truth, however rarely Kafka is asked, and in a steady query hardly less. The
most that was seen is kept. A record that is further behind than `idle_timeout` can be late, for nobody waits that long; so that is said,
once a split.
"""

import logging
from collections.abc import Mapping

from lockgate.planner import Backlog, Head
from lockgate_spark.duration import readable
from lockgate_spark.logs.unread import Key

log = logging.getLogger("lockgate")


class Lags:
    """What one run has seen, in ms by split; a split that was never seen to get a record is not in `seen`."""

    def __init__(self) -> None:
        self.seen: dict[Key, int] = {}
        self._quiet: dict[Key, tuple[int, int]] = {}  # position at the end of the log, and until when the log was seen to end there
        self._warned: set[Key] = set()

    def see(self, backlogs: Mapping[Key, Backlog], heads: Mapping[Key, Head], idle_timeout: int) -> None:
        """Learns from what is unread now. `idle_timeout`: ms."""
        for key, backlog in backlogs.items():
            quiet = self._quiet.pop(key, None)
            if not backlog.offsets:
                self._quiet[key] = (backlog.position, backlog.known_until)
            elif quiet is not None and key in heads and heads[key].offset >= quiet[0] == backlog.position:
                self._learn(key, quiet[1] - heads[key].event_time, idle_timeout)

    def _learn(self, key: Key, lag: int, idle_timeout: int) -> None:
        self.seen[key] = max(0, lag, self.seen.get(key, 0))
        if lag > idle_timeout and key not in self._warned:
            self._warned.add(key)
            topic, _, partition = key[1].rpartition("-")
            log.warning(
                "topic %s, partition %s: a record came %s behind the clock, and idle_timeout is %s: rows of a producer so far behind can be"
                " late and dropped. A longer idle_timeout waits for it, and lets a silent split hold the others for as long",
                topic,
                partition,
                readable(lag - lag % 1000 or lag),
                readable(idle_timeout),
            )
