"""What is drawn beside the class of an adverse scenario: how the query comes back, how many tasks
read a partition, the format of the offset log, and the actions of foreachBatch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from seeded.scenario import HOUR_MS, Act, Away, Batches, Finish, Start, Stop, in_turn

APART_MS = 30_000  # two batches, so that a run can be stopped between them
RETURNS = ("one run", "stopped", "killed", "hours later")
TASKS: tuple[Mapping[str, Any], ...] = ({}, {"minPartitions": 8}, {"maxRecordsPerPartition": 20})


@dataclass(frozen=True, slots=True)
class Beside:
    """`returns`: one of `RETURNS`. `options`: of each source. `shape`: further fields of the
    query.
    """

    returns: str
    options: Mapping[str, Any]
    shape: Mapping[str, int]

    @classmethod
    def of(cls, seed: int, chance: Random, *, live: bool = False) -> "Beside":
        """Each way to come back with each number of tasks, over the seeds of a class. A `live` run
        is stopped amid a batch: with format 2 Spark 4.2.0 cannot go on from there (`None.get` in
        `OfflineStateRepartitionUtils`).
        """
        returns, shape = in_turn(seed, RETURNS), {"log_format": chance.choice((1, 2)), "actions": chance.choice((1, 2))}
        if live and returns != "one run":
            shape["log_format"] = 1
        return cls(returns, in_turn(seed, TASKS), shape)

    @property
    def said(self) -> str:
        """For a title."""
        tasks = [f"{name} {value}" for name, value in self.options.items()]
        return "; ".join((self.returns, *tasks, f"offset log {self.shape['log_format']}"))

    @property
    def gone(self) -> tuple[Act, ...]:
        """Between two runs."""
        return (Away(4 * HOUR_MS),) if self.returns == "hours later" else ()

    def back(self, start: Start) -> tuple[Act, ...]:
        """Amid a run: it ends, and `start` begins another one."""
        return () if self.returns == "one run" else (Stop(killed=self.returns == "killed"), *self.gone, start)

    def replayed(self, batches: int) -> tuple[Act, ...]:
        """A replay that ends after so many batches at first, and goes on; with format 2 between its
        first batch and the next.
        """
        if self.returns == "one run":
            return Start(), Finish()
        first = (Start(0), Batches(batches)) if self.shape["log_format"] == 1 else (Start(APART_MS), Batches(1))
        return *first, *self.back(Start()), Finish()
