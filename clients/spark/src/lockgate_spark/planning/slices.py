"""Event-time slices of one run: where its batches are cut, and what each of them holds. The rule is in `lockgate.slices`.

A batch that Spark replays from the checkpoint was planned by a run that is gone. So that it is told the same, the last two slices are
kept beside the checkpoint, each with the offsets where its batch ends. A slice is kept before Spark logs those offsets: what was kept
last may never have become a batch, what was kept before it has.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Protocol

from lockgate import watermark
from lockgate.events import WatermarkAlignmentEvent
from lockgate.planner import Plan
from lockgate.slices import Slice, plan_slice, slice_of
from lockgate.survey import Survey
from lockgate_spark.logs.behind import in_order
from lockgate_spark.logs.kafka import Offsets
from lockgate_spark.logs.unread import Key, Unread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Ends = Mapping[int, Offsets]
"""Where a batch ends, by source."""


class Memory(Protocol):
    """Keeps two texts across restarts."""

    def read(self) -> list[str]:
        """What is kept; a text that was cut off while it was written may be among it."""

    def write(self, number: int, text: str) -> None:
        """Keeps a text in place of the one that was written two numbers before."""


@dataclass(frozen=True, slots=True)
class BatchSlice:
    """The windows that a batch holds: event times `start` to `end` (exclusive), ms.

    `complete`: the windows are whole in this batch, and behind the cuts no record of theirs was seen, as far as `disorder` reaches.
    """

    start: int
    end: int
    complete: bool

    def rows(self, batch: "DataFrame", event_time: str = "timestamp") -> "DataFrame":
        """The rows of `batch` that lie in the slice. `event_time`: a column, or any expression that gives a timestamp."""
        return batch.where(self._condition(event_time))

    def stragglers(self, batch: "DataFrame", event_time: str = "timestamp") -> "DataFrame":
        """All its other rows: of windows that were handed out before, as a rule. To be merged; they must never overwrite anything."""
        return batch.where(f"NOT coalesce({self._condition(event_time)}, false)")

    def _condition(self, event_time: str) -> str:
        return f"(({event_time}) >= timestamp_millis({self.start}L) AND ({event_time}) < timestamp_millis({self.end}L))"


@dataclass(frozen=True, slots=True)
class _Kept:
    number: int
    slice: Slice
    complete: bool
    ends: Ends

    @property
    def shown(self) -> BatchSlice:
        return BatchSlice(self.slice.start, self.slice.end, self.complete)

    @classmethod
    def parse(cls, text: str) -> "_Kept | None":
        try:
            found = json.loads(text)
        except ValueError:
            return None  # cut off, and so its batch never began
        ends = {int(source): offsets for source, offsets in found["ends"].items()}
        return cls(found["number"], Slice(**found["slice"]), found["complete"], ends)


class Slices:
    """The slices of one run. `window`: ms. `logged`: where the checkpoint's last batch ends, None without one."""

    def __init__(self, window: int, memory: Memory, logged: Ends | None) -> None:
        self.window = window
        self._memory = memory
        kept = [one for text in memory.read() if (one := _Kept.parse(text)) is not None]
        self._last = next((one for one in kept if logged is not None and one.ends == logged), None)
        # What was kept of the checkpoint's last batch is not to be written over before the next batch is logged.
        self._number = self._last.number if self._last is not None else max((one.number for one in kept), default=0)
        self._begun_without = logged is not None and self._last is None

    @property
    def replayed(self) -> BatchSlice | None:
        """The slice of the checkpoint's last batch, where it is known."""
        return None if self._last is None else self._last.shown

    def plan(self, survey: Survey[Key], ceiling: int, told: WatermarkAlignmentEvent | None) -> Plan[Key]:
        """The plan under the group's ceiling that ends where a window does. `told`: the coordinator's last answer."""
        holds_group = told is not None and min(survey.watermarks.values(), default=watermark.MAX) <= told.group_watermark
        return plan_slice(survey, ceiling, self.window, holds_group)

    def reach(self, survey: Survey[Key]) -> int:
        """How far (ms) the next batch gets if the group's ceiling is left out."""
        return min(survey.reach, plan_slice(survey, watermark.MAX, self.window, holds_group=False).target)

    def take(self, plan: Plan[Key], first: int, unread: Unread, disorder: int) -> BatchSlice | None:
        """What the plan's batch holds, kept before the batch is logged; None where it holds nothing. `first`: event time (ms) of the first
        unread record.
        """
        if plan.offsets == 0:
            return None
        ends: dict[int, Offsets] = {source: {} for source in unread.ends}
        for (source, split), made in plan.splits.items():
            ends[source][split] = made.end
        cut = slice_of(plan, first, self._before(first), self.window)
        complete = cut.whole and all(
            in_order(source.log, cut.end, ends[i], unread.ends[i], disorder) for i, source in unread.sources.items()
        )
        self._number += 1
        self._last, self._begun_without = _Kept(self._number, cut, complete, ends), False
        self._memory.write(self._number, json.dumps(asdict(self._last)))
        return self._last.shown

    def _before(self, first: int) -> Slice | None:
        if self._begun_without:
            return Slice(first, first + 1, whole=False, unfinished=True)  # who knows what of that window was read
        return None if self._last is None else self._last.slice
