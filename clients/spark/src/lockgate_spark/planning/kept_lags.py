"""Stores the producer lags of a query's splits beside its checkpoint, for its next run.

They are written at the end of a run, and before a plan is carried out that has seen a producer
exceed its written lag by more than an eighth (`Shown.covers`). A smaller excess may be lost in a
crash. This does no harm, because the next run waits for a quarter more than the written lag.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Annotated, ClassVar

from lockgate.plan.producer_lag import ProducerLag, Shown
from lockgate.wire.codec import from_json, to_json
from lockgate.wire.fields import Meta
from lockgate_spark.logs.unread import Key
from lockgate_spark.planning.memory import by_split, remembered
from lockgate_spark.spark_run import Memory

log = logging.getLogger("lockgate")

FORMAT = 1


class KeptLags:
    """Stores the producer lags of one query in `memory` across restarts. `now` is the wall-clock
    time in ms. Errors are only logged.
    """

    def __init__(self, memory: Memory, now: int) -> None:
        self._memory = memory
        self._number = 0
        self._kept: dict[Key, Shown] = {}
        self._failed = False
        try:
            found = remembered(memory.read(), partial(_parsed, now=now), "the producers' lags")
            self._number, self._kept = max(found, key=itemgetter(0), default=(0, {}))
        except Exception as error:
            self._warn("read", error)

    def of(self, key: Key) -> Shown:
        """Return the stored state of a split's producer; an empty `Shown` if none is stored."""
        return self._kept.get(key, Shown())

    def keep(self, lags: Mapping[Key, ProducerLag], slack: int = 0, at_once: bool = False) -> None:
        """Write `lags` if the lags written last do not cover them (`Shown.covers`), or if
        `at_once`. A lag of `slack` (ms) or less is no reason to write. After an error, which is
        only logged, nothing is written any more.
        """
        if self._failed or not (at_once or any(not self.of(key).covers(lag.state, slack) for key, lag in lags.items())):
            return
        self._kept = {key: lag.state for key, lag in lags.items()}
        try:
            self._number += 1
            self._memory.write(self._number, json.dumps(to_json(_Text(FORMAT, self._number, self._kept))))
        except Exception as error:
            self._failed = True
            self._warn("kept", error)

    @staticmethod
    def _warn(what: str, error: Exception) -> None:
        again = "the producers' lags cannot be %s in <checkpoint>/lockgate, so a restart measures them again: %s"
        log.warning(again, what, error)


@dataclass(frozen=True, slots=True)
class _Text:
    CLOSED: ClassVar[bool] = True

    format: Annotated[int, Meta(ge=FORMAT, le=FORMAT)]
    number: Annotated[int, Meta(ge=1, le=2**62)]
    splits: Annotated[Mapping[Key, object], by_split(lambda values: values)]  # the fields of each `Shown`


def _parsed(value: object, now: int) -> tuple[int, dict[Key, Shown]]:
    text = from_json(_Text, value)
    return text.number, {key: Shown.restored(values, now) for key, values in text.splits.items()}
