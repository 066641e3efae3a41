"""What the host answers: which alignment a stream gets, and the plans of each run.

A table that the jar has made keeps what was asked for, and what its plan has in the JVM. So another
host can go on where this one has ended.
"""

import json
from typing import Any
from weakref import WeakValueDictionary

from lockgate_spark.conf import asked
from lockgate_spark.config import Alignment
from lockgate_spark.host.driver import Driver
from lockgate_spark.jvm.failures import Selected
from lockgate_spark.jvm.late import CountingPlace, LateRows
from lockgate_spark.jvm.opening import PlannedSource, aligned_run, check_before, check_session
from lockgate_spark.jvm.stand_in import Answering
from lockgate_spark.jvm.stream import Stream, opened
from lockgate_spark.logs.requests import Offsets

_PLACE, _BELOW = "late rows: name", "late rows: below"
_LEFT = "round"


class HostAnswers(Answering):
    """Answers the Java class `Host`. One object serves all sessions of the driver."""

    def __init__(self, driver: Driver) -> None:
        super().__init__()
        self._driver = driver
        # A table that several queries read has one count, which tells them apart.
        self._late: WeakValueDictionary[str, LateRows] = WeakValueDictionary()

    def align(self, table: Any, relation: Any) -> Any:
        """The plan that reads an aligned table; None where nobody has asked for one. `relation`:
        the plan that reads it without more.
        """
        alignment = _asked(table)
        if alignment is None:
            return None
        spark = self._driver.session(table.session())
        check_session(spark)
        check_before(spark, alignment)
        late = PlannedSource.of(spark, table.spark(), alignment).late
        if late is None:
            return relation
        table.kept().put(_PLACE, late.place.name)
        table.kept().put(_BELOW, late.place.below)
        return late.over(relation)

    def open(
        self, half: Any, java: Any, checkpoint: str, table: Any, options: Any, ends_fixed_at: int | None, kept: Any
    ) -> Stream:
        """A stream of a run. `half`: what Spark has in its place. `ends_fixed_at`: when
        `availableNow` fixed the source's ends (ms), if another host did. `kept`: of the run.
        """
        alignment = _asked(table)
        assert alignment is not None  # else the jar would have no such table
        spark = self._driver.session(table.session())
        place = (
            CountingPlace(table.kept().get(_PLACE), table.kept().get(_BELOW))
            if table.kept().containsKey(_PLACE)
            else None
        )
        source = PlannedSource.of(spark, table.spark(), alignment, place)
        late = None if source.late is None else self._late.setdefault(source.late.place.name, source.late)
        run = aligned_run(spark, checkpoint, source.joint, KeptRound(kept))
        gateway, selected = self._driver.gateway, Selected.by(options)
        stream = opened(
            run,
            checkpoint,
            lambda run, index: Stream(java, gateway, selected, run, index, source.event_time, late, half),
        )
        stream.fixed_at = ends_fixed_at
        return stream


class KeptRound:
    """A `Round`, kept in the driver. `kept`: a Java map of the run."""

    def __init__(self, kept: Any) -> None:
        self._kept = kept

    def left(self) -> tuple[int, dict[int, Offsets]] | None:
        """The leader, and the answers of its last plan."""
        text = self._kept.get(_LEFT)
        if text is None:
            return None
        leader, answers = json.loads(text)
        return leader, {int(index): offsets for index, offsets in answers.items()}

    def keep(self, leader: int, answers: dict[int, Offsets]) -> None:
        """Keeps the answers of a plan."""
        self._kept.put(_LEFT, json.dumps([leader, answers]))


def _asked(table: Any) -> Alignment | None:
    return asked(dict(table.options()), dict(table.conf()))
