"""An alarm for partitions that have gone quiet, which also fetches them again from the same offset.

A partition is quiet if no records arrive from it, although Kafka does not confirm that it was read
to its end. Either its leader does not answer, or a client that has lost it after a change of
leaders does not fetch it, or an open transaction holds its records back. Other partitions wait for
it meanwhile, so a warning is logged. Time counts only while fetches often come back empty: if the
program is slower than Kafka, the records may be queued behind others.
"""

import logging
from collections.abc import Collection

from lockgate.duration import spoken_s
from lockgate_reader.kafka.client import KafkaClient
from lockgate_reader.place import Key
from lockgate_reader.reading.split import OpenSplit

log = logging.getLogger("lockgate")

QUIET_MS = 30_000
OFTEN_MS = 5_000
_NAMED = 5


class Quiet:
    """Watches for quiet partitions. Times are in ms of the monotonic clock."""

    def __init__(self, client: KafkaClient) -> None:
        self._client = client
        self._since: dict[Key, tuple[int, int]] = {}  # when it began, and the position

    def look(self, splits: Collection[OpenSplit], now_ms: int, empty_ms: int) -> list[OpenSplit]:
        """Warn of splits that have been quiet for `QUIET_MS`, fetch them again, and return them.
        `empty_ms` is the time of the last fetch that returned nothing.
        """
        before = self._since if now_ms - empty_ms <= OFTEN_MS else {}
        self._since, found = {}, []
        for split in splits:
            if split.fetched or split.paused or split.silent_until(now_ms) is not None:
                continue
            since, position = before.get(split.key, (now_ms, split.position))
            if position != split.position:
                since = now_ms
            elif now_ms - since >= QUIET_MS:
                found.append(split)
                since = now_ms
            self._since[split.key] = since, split.position
        if found:
            self._client.refetch({split.key: split.position for split in found})
            names = ", ".join(f"{split.name} at offset {max(0, split.position)}" for split in found[:_NAMED])
            more = " and more" if len(found) > _NAMED else ""
            log.warning(
                "Kafka has sent nothing of %s%s for %s, and does not confirm the end there; fetching again. Check the "
                "partition's leader, and look for an open transaction",
                names,
                more,
                spoken_s(QUIET_MS / 1000),
            )
        return found
