"""The clocks of a scenario: the world's, which may have moved on by hours between two runs, and the
driver's, which may be off.

An aligned run takes its wall clock when it is made, and `availableNow` takes the time of its
beginning. Both are given the driver's clock here, in this process.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

from lockgate_spark.jvm import stream
from lockgate_spark.planning.aligned_run import AlignedRun


class Clocks:
    """Wall clocks in ms. `behind_ms`: how far behind the machine's clock the world begins.
    `driver_is_right`: throughout.
    """

    def __init__(
        self, behind_ms: int = 0, *, driver_is_right: bool = True, machine: Callable[[], float] = time.time
    ) -> None:
        self._machine, self.driver_is_right = machine, driver_is_right
        self._shifts = [(0.0, -float(behind_ms))]  # since when, by the machine's clock, and by how much
        self.driver_off_ms = 0

    def now(self) -> float:
        """The world's, by which producers stamp."""
        return self.of(self._machine() * 1000)

    def of(self, machine_ms: float) -> float:
        """What the world's clock said at a time of the machine's."""
        return machine_ms + next(by for since, by in reversed(self._shifts) if since <= machine_ms)

    def move_on(self, by_ms: int) -> None:
        """The world's clock moves on by so much at once."""
        self._shifts.append((self._machine() * 1000, self._shifts[-1][1] + by_ms))

    def driver(self) -> float:
        """The driver's, in seconds."""
        return (self.now() + self.driver_off_ms) / 1000


@contextmanager
def driven_by(clocks: Clocks) -> Iterator[None]:
    """Aligned runs that begin inside of `with` take the driver's clock."""
    begin = AlignedRun.__init__

    def clocked(self: AlignedRun, *positional: Any, **named: Any) -> None:
        begin(self, *positional, **{"clock": clocks.driver, **named})

    with (
        mock.patch.object(AlignedRun, "__init__", clocked),
        mock.patch.object(stream, "time", SimpleNamespace(time=clocks.driver)),
    ):
        yield
