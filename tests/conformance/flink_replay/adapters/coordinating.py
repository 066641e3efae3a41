"""The coordinators of several sources over one store."""

from typing import Any

from flink_replay.adapters.base import Adapter
from lockgate.errors import WrongState
from lockgate.flink.announcement import CoordinatorStore, SourceAlignment


class CoordinatorAdapter(Adapter):
    def __init__(self, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.store = CoordinatorStore()
        self.sources: dict[str, SourceAlignment] = {}
        self.groups: list[str] = []
        self.failed: set[str] = set()

    def do_source(
        self, source: str, operator_name: str, group: str | None, drift: int, parallelism: int, start: bool
    ) -> None:
        self.sources[source] = SourceAlignment(self.store, operator_name, group, drift, parallelism)
        if group is not None:
            self.groups.append(group)
        if start:
            self.do_start(source)

    def do_start(self, source: str) -> None:
        self.sources[source].start()
        self.started = True

    def do_ready(self, source: str, subtask: int, attempt: int) -> None:
        self.sources[source].attempt_ready(subtask, attempt)

    def do_attempt_failed(self, source: str, subtask: int, attempt: int) -> None:
        self.sources[source].attempt_failed(subtask, attempt)

    def do_subtask_reset(self, source: str, subtask: int, checkpoint: int) -> None:
        self.sources[source].subtask_reset(subtask)

    def do_report(self, source: str, subtask: int, ts: int) -> None:
        alignment = self.sources[source]
        try:
            alignment.report(subtask, ts)
        except WrongState:
            if alignment.enabled:
                raise
            if (
                source not in self.failed
            ):  # Flink handles a report on the coordinator's thread: what it throws fails the job, once
                self.failed.add(source)
                self.events.append({"job_failed": "IllegalStateException", "source": source})

    def do_announce(self, source: str) -> None:
        for subtask, ceiling in self.sources[source].announce():
            self.events.append({"align": ceiling, "source": source, "subtask": subtask})

    def do_close(self, source: str) -> None:
        """Nothing: a source that is closed leaves its last word."""

    def state(self) -> Any:
        groups = {group: self._group(group) for group in self.groups}
        sources = {
            name: {"combined": source.combined.aggregated, "subtasks": sorted(source.combined.keys())}
            for name, source in self.sources.items()
        }
        return {"groups": groups, "sources": sources}

    def _group(self, name: str) -> Any:
        group = self.store.groups.get(name)
        return None if group is None else {"combined": group.aggregated, "members": sorted(group.keys())}
