"""Sources that share a group, by the coordinator's own turns (`lockgate.group.turn`): strict, and
at a time that stands still, so that no lease ends.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from flink_replay.adapters.base import Adapter, Op
from lockgate.group.commands import Register, Reports
from lockgate.group.group import Group, create
from lockgate.group.now import Now
from lockgate.group.reader import watermark_of
from lockgate.group.turn import turn
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import CatchUp, GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent

NOW = Now(1)


def a_group(name: str) -> Group:
    """Return a new group with Flink's rule of the ceiling."""
    return create(name, GroupConfig(catch_up=CatchUp.STRICT), NOW.ms)


def reported(group: Group, source: str, subtask: int, watermark: int) -> Group:
    """Return the group after a report, for which a reader registers first that has not."""
    if (source, subtask) not in group.readers:
        group = registered(group, source, subtask)
    event = ReportedWatermarkEvent(subtask=subtask, epoch=group.readers[source, subtask].epoch, watermark=watermark)
    return turn(group, [Reports([(source, event)])], NOW).group


def registered(group: Group, source: str, subtask: int) -> Group:
    """Return the group after the registration of a reader."""
    return turn(group, [Register(source, ReaderRegistrationEvent(subtask=subtask))], NOW).group


@dataclass
class Source:
    """One of Flink's source coordinators. Which attempts can be spoken to is the transport's
    knowledge: here, as there, each subtask that has reported asks for the event.
    """

    name: str
    group: str
    config: GroupConfig
    ready: dict[int, set[int]] = field(default_factory=dict)
    reporters: set[int] = field(default_factory=set)


class CoordinatorAdapter(Adapter):
    def __init__(self, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.groups: dict[str, Group] = {}
        self.sources: dict[str, Source] = {}

    def apply(self, op: Op) -> None:
        if op["op"] == "source" or op["source"] in self.sources:
            super().apply(op)

    def do_source(
        self, source: str, operator_name: str, group: str | None, drift: int, parallelism: int, start: bool
    ) -> None:
        if group is None or drift == MAX:  # a source that is not aligned does not join
            return
        config = GroupConfig(catch_up=CatchUp.STRICT, max_drift_ms=drift)
        self.sources[source] = Source(operator_name, group, config)
        self.groups.setdefault(group, a_group(group))

    def do_start(self, source: str) -> None:
        """Nothing: a coordinator of lockgate is there before its readers."""

    def do_ready(self, source: str, subtask: int, attempt: int) -> None:
        """An attempt is a new epoch of the reader."""
        its = self.sources[source]
        its.ready.setdefault(subtask, set()).add(attempt)
        self.groups[its.group] = registered(self.groups[its.group], its.name, subtask)

    def do_attempt_failed(self, source: str, subtask: int, attempt: int) -> None:
        """A failed attempt is silent; no lease ends here."""
        self.sources[source].ready.get(subtask, set()).discard(attempt)

    def do_subtask_reset(self, source: str, subtask: int, checkpoint: int) -> None:
        self.sources[source].ready.pop(subtask, None)

    def do_report(self, source: str, subtask: int, ts: int) -> None:
        its = self.sources[source]
        self.groups[its.group] = reported(self.groups[its.group], its.name, subtask, ts)
        its.reporters.add(subtask)

    def do_announce(self, source: str) -> None:
        its = self.sources[source]
        event = turn(replace(self.groups[its.group], config=its.config), [], NOW).event
        for subtask in sorted(its.reporters):
            if its.ready.get(subtask):
                self.events.append({"align": event.max_desired_watermark, "source": source, "subtask": subtask})

    def do_close(self, source: str) -> None:
        """Nothing: a source that is closed is silent."""

    def state(self) -> Any:
        groups = {name: self._group(group) for name, group in self.groups.items()}
        return {"groups": groups, "sources": {name: self._source(source) for name, source in self.sources.items()}}

    def _group(self, group: Group) -> Any:
        members = {source for (source, _), reader in group.readers.items() if reader.reported is not None}
        return {"combined": group.group_watermark, "members": sorted(members)}

    def _source(self, source: Source) -> Any:
        readers = self.groups[source.group].readers
        own = [reader for (name, _), reader in readers.items() if name == source.name and reader.reported is not None]
        return {"combined": min(map(watermark_of, own), default=MIN), "subtasks": sorted(source.reporters)}


class AggregatorAdapter(Adapter):
    """Each key is a source with one reader."""

    def __init__(self, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.group = a_group("g")

    def do_aggregate(self, key: str, ts: int) -> None:
        before = self.group.group_watermark
        self.group = reported(self.group, key, 0, ts)
        after = self.group.group_watermark
        self.events.append({"return": None if after == before else after})

    def state(self) -> Any:
        return {"aggregated": self.group.group_watermark, "keys": sorted({source for source, _ in self.group.readers})}
