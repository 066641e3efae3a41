"""What the producers of a query's splits have shown, kept beside its checkpoint: a restart begins
with what the run before had learned.

A text holds, by source and split, what was shown and when, and where the log ended at the last
look. A file system that does not take it is warned of once, and stops nothing: the next run begins
with care again.
"""

import json
import logging
from collections.abc import Mapping

from lockgate.plan.producer_lag import ProducerLag
from lockgate_spark.logs.unread import Key
from lockgate_spark.planning.slices import Memory

log = logging.getLogger("lockgate")

_APART_MS = 60_000


class KeptLags:
    """Of one query. `memory`: two texts, the later one counts."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._number = 0
        self._written_at = 0
        self._kept: dict[str, dict[str, list[int]]] = {}
        self._failed = False
        try:
            self._read(memory.read())
        except Exception as error:
            self._fail("read", error)

    def lag(self, key: Key, limit: int) -> ProducerLag | None:
        """The lag that the producer of a split had shown; None where the split is new. `limit`: as
        in `ProducerLag`.
        """
        found = self._kept.get(str(key[0]), {}).get(key[1])
        return None if found is None else ProducerLag.restored(limit, *found)

    def write(self, lags: Mapping[Key, ProducerLag], now: int, at_once: bool) -> None:
        """Keeps the lags, at most once a minute unless `at_once`. Raises nothing."""
        if self._failed or not (at_once or not 0 <= now - self._written_at < _APART_MS):
            return
        self._written_at, self._number = now, self._number + 1
        splits: dict[str, dict[str, tuple[int, ...]]] = {}
        for (source, split), lag in lags.items():
            if lag.known:
                splits.setdefault(str(source), {})[split] = lag.kept()
        try:
            self._memory.write(self._number, json.dumps({"number": self._number, "splits": splits}))
        except Exception as error:
            self._fail("kept", error)

    def _read(self, texts: list[str]) -> None:
        for text in texts:
            try:
                found = json.loads(text)
            except ValueError:
                continue  # cut off while it was written
            if found["number"] > self._number:
                self._number, self._kept = found["number"], found["splits"]

    def _fail(self, what: str, error: Exception) -> None:
        self._failed = True
        log.warning(
            "the producers' lags cannot be %s beside the checkpoint, so a restart measures them anew: %s",
            what,
            error,
        )
