"""Where the coordinator's rule differs from Flink's on purpose. Flink keeps its rules inside one
job; a group of lockgate has members that come, go and are strangers to each other.

`Rule` says in few lines what lockgate answers instead. A deviation uses its answer only where its
own condition holds; everywhere else Flink's answer is what is expected.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from flink_replay.adapters.base import Event, Op
from flink_replay.expected import Expected
from lockgate.watermark import MAX, MIN

Reader = tuple[str, str, int]
"""Group, name of the source, subtask."""


@dataclass
class Rule:
    """The lowest of the readers' last watermarks, and who hears it. `silent`: readers whose present
    attempt has reported MIN alone.
    """

    sources: dict[str, Op] = field(default_factory=dict)
    watermarks: dict[Reader, int] = field(default_factory=dict)
    reporters: dict[str, set[int]] = field(default_factory=dict)
    ready: dict[str, dict[int, set[int]]] = field(default_factory=dict)
    spoken: set[Reader] = field(default_factory=set)
    silent: set[Reader] = field(default_factory=set)

    def take(self, op: Op) -> list[Event]:
        """Return what the operation produces."""
        if op["op"] == "source" and is_aligned(op):
            self.sources[op["source"]], self.reporters[op["source"]], self.ready[op["source"]] = op, set(), {}
        if op["source"] not in self.sources:
            return [{"error": "ArithmeticException"}] if op.get("drift", 0) < 0 else []
        subtasks, subtask = self.ready[op["source"]], op.get("subtask", 0)
        match op["op"]:
            case "ready":
                subtasks.setdefault(subtask, set()).add(op["attempt"])
                self.spoken.discard(self._reader(op))
            case "attempt_failed":
                subtasks.get(subtask, set()).discard(op["attempt"])
            case "subtask_reset":
                subtasks.pop(subtask, None)
            case "report":
                self._report(op)
            case "announce":
                ceiling, reporters = self._ceiling(op["source"]), self.reporters[op["source"]]
                told = [subtask for subtask in sorted(reporters) if subtasks.get(subtask)]
                return [{"align": ceiling, "source": op["source"], "subtask": subtask} for subtask in told]
        return []

    def state(self) -> Any:
        """As the recorder read it."""
        groups = sorted({source["group"] for source in self.sources.values()})
        return {
            "groups": {group: {"combined": self.lowest(group), "members": self._members(group)} for group in groups},
            "sources": {name: self._source(name) for name in self.sources},
        }

    def lowest(self, group: str, name: str | None = None) -> int:
        """Of the readers of a group, or of one source in it; MIN where none counts."""
        counted = [at for (its, source, _), at in self.watermarks.items() if its == group and name in (None, source)]
        return min(counted, default=MIN)

    def _report(self, op: Op) -> None:
        reader = self._reader(op)
        self.reporters[op["source"]].add(op["subtask"])
        if op["ts"] == MIN and reader not in self.spoken:
            self.silent.add(reader)
        else:
            self.silent.discard(reader)
            self.spoken.add(reader)
            self.watermarks[reader] = op["ts"]

    def _reader(self, op: Op) -> Reader:
        source = self.sources[op["source"]]
        return source["group"], source["operator_name"], op["subtask"]

    def _ceiling(self, source: str) -> int:
        group, drift = self.sources[source]["group"], self.sources[source]["drift"]
        if not any(its == group for its, _, _ in self.watermarks):
            return MAX
        lowest = self.lowest(group)
        return lowest if lowest == MIN else min(MAX, lowest + drift)

    def _members(self, group: str) -> list[str]:
        return sorted({source for its, source, _ in self.watermarks if its == group})

    def _source(self, name: str) -> Any:
        source = self.sources[name]
        combined = self.lowest(source["group"], source["operator_name"])
        return {"combined": combined, "subtasks": sorted(self.reporters[name])}


def is_aligned(source: Op) -> bool:
    """Whether a source with these parameters joins a group of lockgate."""
    return source["group"] is not None and 0 <= source["drift"] < MAX


class CoordinatorDeviation:
    """Flink's answer, or the rule's where `applies`."""

    component = "source_coordinator_alignment"
    name: str
    applies: ClassVar[Callable[[Rule, Expected], bool]]

    def __init__(self) -> None:
        self._rule = Rule()
        self._since = False

    def adapt(self, expected: Expected) -> Expected:
        """Return what is expected of lockgate."""
        out = self._rule.take(expected.op)
        self._since = self._since or (self.lasts and type(self).applies(self._rule, expected))
        if not (self._since or type(self).applies(self._rule, expected)):
            return expected
        return Expected(expected.op, out, self._rule.state())

    lasts = False
    """Whether the condition, once true, goes on to shape what comes."""


class AReaderCountsFromItsFirstWatermark(CoordinatorDeviation):
    """When: an attempt of a subtask has reported MIN and nothing else so far.

    Why: it has read nothing yet, and cannot say how long that will take. In Flink it blocks its own
    source, but no other one. Instead: it blocks nobody, and what the attempt before it reported
    goes on counting. Use `expected_sources` where nobody may start without it.
    """

    name = "a reader counts from its first watermark above MIN on"
    applies = staticmethod(lambda rule, expected: bool(rule.silent))


class NothingIsReadBelowMin(CoordinatorDeviation):
    """When: the group's watermark is MIN. Flink announces MIN + drift.

    Why: MIN is no time. Instead: MIN, under which as little is read; and no limit at all as long
    as no reader has had a watermark.
    """

    name = "MIN plus a drift is MIN"
    applies = staticmethod(
        lambda rule, expected: (
            expected.op["op"] == "announce"
            and expected.op["source"] in rule.sources
            and rule.lowest(rule.sources[expected.op["source"]]["group"]) == MIN
        )
    )


class ASourceIsItsName(CoordinatorDeviation):
    """When: two sources of a group have one name. In Flink each has its own subtasks, and the last
    change of either is what the group sees.

    Why: there no error shows, and one of the two limits nobody. Instead: they are one source; the
    second owner of a subtask is refused, or takes over.
    """

    name = "a source is its name"
    lasts = True
    applies = staticmethod(
        lambda rule, expected: (
            len({(source["group"], source["operator_name"]) for source in rule.sources.values()}) < len(rule.sources)
        )
    )


class NoSubtaskIsOutOfRange(CoordinatorDeviation):
    """When: a report is of a subtask beyond the source's parallelism. Flink fails at each later
    announcement.

    Why: queries come with other numbers of partitions. Instead: it is a reader as any other.
    """

    name = "no subtask is out of range"
    applies = staticmethod(
        lambda rule, expected: bool(expected.out and expected.out[-1].get("error") == "IllegalArgumentException")
    )


class WhoIsNotAlignedDoesNotJoin(CoordinatorDeviation):
    """When: a source without a group, with a drift of MAX or below zero, or that is not started.

    Why: Flink's coordinator is there for other things as well. Instead: a source that is not
    aligned is no member, a drift below zero is refused, and a group is there before its readers.
    """

    name = "a source that is not aligned does not join"
    lasts = True
    applies = staticmethod(
        lambda rule, expected: expected.op["op"] == "source" and not (is_aligned(expected.op) and expected.op["start"])
    )


class AKeyCountsFromItsFirstWatermark:
    """The same as for readers, in the aggregator's own traces."""

    component = "watermark_aggregator"
    name = AReaderCountsFromItsFirstWatermark.name

    def __init__(self) -> None:
        self._watermarks: dict[str, int] = {}
        self._silent: set[str] = set()

    def adapt(self, expected: Expected) -> Expected:
        """Return what is expected of lockgate."""
        key, watermark = expected.op["key"], expected.op["ts"]
        before, silent = min(self._watermarks.values(), default=MIN), set(self._silent)
        if watermark == MIN and key not in self._watermarks:
            self._silent.add(key)
        else:
            self._silent.discard(key)
            self._watermarks[key] = watermark
        if not silent | self._silent:
            return expected
        lowest = min(self._watermarks.values(), default=MIN)
        out = [{"return": None if lowest == before else lowest}]
        return Expected(expected.op, out, {**expected.state, "aggregated": lowest})


DEVIATIONS = (
    AReaderCountsFromItsFirstWatermark,
    NothingIsReadBelowMin,
    ASourceIsItsName,
    NoSubtaskIsOutOfRange,
    WhoIsNotAlignedDoesNotJoin,
    AKeyCountsFromItsFirstWatermark,
)
