"""What the producers of a query's splits have shown, kept beside its checkpoint: a restart goes on
with what the run before had learned, wherever that run ended.

**When.** At the end of a run, and in each plan by which a producer has shown more than the kept
memory covers (`Shown.covers`), before that plan is carried out. So a run that is killed loses no
more than the next run's margin gives back. A producer that shows nothing new costs a write in half
an hour.

**What.** A text holds its `FORMAT`, its number, and by source and split the values of a `Shown`. A
file system that does not take it is warned of once, and stops nothing: the next run begins with
care again.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

from lockgate.plan.producer_lag import ProducerLag, Shown
from lockgate.wire.codec import from_json
from lockgate.wire.fields import JsonForm, Meta
from lockgate_spark.logs.unread import Key
from lockgate_spark.planning.memory import Memory, remembered

log = logging.getLogger("lockgate")

FORMAT = 1


class KeptLags:
    """Of one query. `memory`: two texts, the later one counts. `now`: wall clock in ms."""

    def __init__(self, memory: Memory, now: int) -> None:
        self._memory = memory
        self._number = 0
        self._kept: dict[Key, Shown] = {}
        self._failed = False
        try:
            self._read(memory.read(), now)
        except Exception as error:
            self._warn("read", error)

    def of(self, key: Key) -> Shown:
        """Return what the producer of a split had shown when that was last kept."""
        return self._kept.get(key, Shown())

    def keep(self, lags: Mapping[Key, ProducerLag], slack: int = 0, at_once: bool = False) -> None:
        """Keep what the producers have shown if the kept memory does not cover it, or `at_once`.

        Lags up to `slack` (ms) need no memory. Raises nothing.
        """
        if self._failed or not (at_once or any(not self.of(key).covers(lag.state, slack) for key, lag in lags.items())):
            return
        self._kept = {key: lag.state for key, lag in lags.items()}
        try:
            self._number += 1
            self._memory.write(self._number, self._text())
        except Exception as error:
            self._failed = True
            self._warn("kept", error)

    def _text(self) -> str:
        splits: dict[int, dict[str, list[bool | int]]] = {}
        for (source, split), shown in self._kept.items():
            splits.setdefault(source, {})[split] = shown.kept()
        return json.dumps({"format": FORMAT, "number": self._number, "splits": splits})

    def _read(self, texts: list[str], now: int) -> None:
        found = remembered(texts, partial(_parsed, now=now), "the producers' lags")
        self._number, self._kept = max(found, key=lambda one: one[0], default=(0, {}))

    @staticmethod
    def _warn(what: str, error: Exception) -> None:
        log.warning(
            "the producers' lags cannot be %s in <checkpoint>/lockgate, so a restart measures them again: %s",
            what,
            error,
        )


@dataclass(frozen=True, slots=True)
class _Text:
    """The JSON of a text. The values of each split are those of `Shown.kept`."""

    CLOSED: ClassVar[bool] = True

    format: Annotated[int, Meta(ge=FORMAT, le=FORMAT)]
    number: Annotated[int, Meta(ge=1, le=2**62)]
    splits: Mapping[str, Mapping[str, Annotated[object, JsonForm(lambda values: values, lambda values: values, {})]]]


def _parsed(value: object, now: int) -> tuple[int, dict[Key, Shown]]:
    """Return the number and the memory of a text. Raises `ValueError`."""
    text = from_json(_Text, value)
    by_source = text.splits.items()
    kept = {
        (int(source), split): Shown.restored(values, now) for source, of in by_source for split, values in of.items()
    }
    return text.number, kept
