"""The client of the coordinator: one method a route, one exception a kind of "no" (see `answers`).

Every call ends within `Coordinator(timeout)`, whatever the other side does. What may pass is tried again within that time; beyond it the
caller asks again at its next turn (see `membership`), since every request repeats state that is still true.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from lockgate import codec
from lockgate.events import GroupConfig, ProgressEvent, ReaderRegistrationEvent, RegistrationAnswer, ReportedWatermarkEvent
from lockgate.events import WatermarkAlignmentEvent as Event
from lockgate_spark.answers import Answer, NotACoordinator, NotRegistered, Problem, Stale, Unreachable, Untrusted, refusal
from lockgate_spark.config import Coordinator
from lockgate_spark.connection import Connection
from lockgate_spark.duration import milliseconds
from lockgate_spark.errors import AlignmentError
from lockgate_spark.retry import Pace, until_answered

if TYPE_CHECKING:
    import httpx

__all__ = ["CoordinatorClient", "NotACoordinator", "NotRegistered", "Registered", "Stale", "Unreachable", "Untrusted"]

log = logging.getLogger("lockgate")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Registered:
    """Who holds the newest epoch of a reader."""

    epoch: int
    owner: str
    attributes: Mapping[str, str]


class CoordinatorClient:
    """One coordinator, one group. Thread-safe. `transport` is httpx's, for tests and for proxies."""

    def __init__(self, coordinator: Coordinator, transport: "httpx.AsyncBaseTransport | None" = None, pace: Pace | None = None) -> None:
        self._token = coordinator.token
        self._name = coordinator.group
        self._group = f"/v1/groups/{coordinator.group}"
        self._timeout_s = milliseconds("Coordinator(timeout)", coordinator.timeout) / 1000
        self._pace = pace or Pace()
        self._connection = Connection(coordinator, transport)

    def config(self) -> GroupConfig:
        """The group's configuration. Raises `NotRegistered` when there is no such group."""
        return self._read(self._send("GET", self._group, params={"limit": 1}), lambda answer: codec.config_from_json(answer["config"]))

    def register(self, source: str, registration: ReaderRegistrationEvent) -> RegistrationAnswer:
        """Opens a new epoch of a reader. Raises `CoordinatorRefused` when another owner holds it.

        Sent again after an answer that was lost it opens one epoch more; the last answer is the one that counts. Should the lost
        request be applied after all, later, its epoch is the newest: `registered` tells.
        """
        answer = self._send("POST", f"{self._group}/sources/{source}/readers", json=codec.registration_to_json(registration))
        return self._read(answer, codec.answer_from_json)

    def registered(self, source: str) -> dict[int, Registered]:
        """Who holds the newest epoch of each reader of `source`."""
        answer = self._send("GET", f"{self._group}/sources/{source}", params={"limit": 1000})
        return self._read(
            answer,
            lambda body: {
                int(reader["subtask"]): Registered(int(reader["epoch"]), str(reader["owner"]), dict(reader["attributes"]))
                for reader in body["readers"]
            },
        )

    def report(self, reports: list[tuple[str, ReportedWatermarkEvent]]) -> Event:
        """Reports for all readers of a query at once. Raises `NotRegistered` or `Stale` if that is what one of them is told."""
        answer = self._send("POST", f"{self._group}/watermarks", json=codec.reports_to_json(reports))
        rejected, alignment = self._read(
            answer, lambda body: ([Problem.from_json(no) for no in body["rejected"]], codec.alignment_from_json(body["alignment"]))
        )
        for problem in rejected:
            raise self._refusal(problem)
        return alignment

    def park(self, reports: list[tuple[str, ReportedWatermarkEvent]], for_ms: int) -> Event:
        """The last reports of a scheduled run: its readers count for `for_ms`, or until the next run reports. Raises as `report`."""
        return self.report([(source, replace(last, park_ms=for_ms)) for source, last in reports])

    def leave(self, source: str, subtask: int, epoch: int) -> None:
        """The reader no longer counts, at once; nor did it, if it was gone already or has a newer epoch."""
        try:
            self._send("DELETE", f"{self._group}/sources/{source}/readers/{subtask}", params={"epoch": epoch})
        except (NotRegistered, Stale) as error:
            log.debug("leave of %s/%d: %s", source, subtask, error)

    def offer(self, source: str, progress: ProgressEvent) -> bool:
        """An executor's word in the middle of a batch; False when it was not taken. Never raises for that: it only helps the others."""
        try:
            self._send("POST", f"{self._group}/sources/{source}/progress", json=codec.progress_to_json(progress))
        except AlignmentError as error:
            log.warning("progress of %s/%d was not taken: %s", source, progress.subtask, error)
            return False
        return True

    def wait(self, after: int, wait_ms: int) -> Event | None:
        """The alignment once its revision is above `after`; None when that takes longer than `wait_ms`."""
        query = {"after": after, "wait_ms": wait_ms}
        answer = self._send("GET", f"{self._group}/alignment", within_s=self._timeout_s + wait_ms / 1000, params=query)
        return None if answer.status == 204 else self._read(answer, codec.alignment_from_json)

    def interrupt(self) -> None:
        """Ends all calls that are under way, in whatever thread, with `Unreachable`."""
        self._connection.interrupt()

    def close(self) -> None:
        """Ends all calls, and closes the connections."""
        self._connection.close()

    def __enter__(self) -> "CoordinatorClient":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _send(self, method: str, path: str, within_s: float | None = None, **request: Any) -> Answer:
        async def once() -> Answer:
            answer = await self._connection.send(method, path, **request)
            if not 200 <= answer.status < 300:
                raise self._refusal(Problem.of(answer), answer.asked_wait_s)
            return answer

        url = self._connection.url
        return self._connection.call(lambda: until_answered(once, url, within_s or self._timeout_s, self._pace))

    def _read(self, answer: Answer, decode: Callable[[dict[str, Any]], T]) -> T:
        """The answer's JSON through `decode`. Raises `NotACoordinator` for what no coordinator says."""
        try:
            return decode(answer.json())
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            url = self._connection.url
            raise NotACoordinator(f"{url} did not answer as a lockgate coordinator does; is Coordinator(url=…) right?") from error

    def _refusal(self, problem: Problem, asked_wait_s: float | None = None) -> AlignmentError:
        if self._token:  # somebody between us and the coordinator may quote the request
            problem = Problem(problem.status, problem.type.replace(self._token, "…"), problem.detail.replace(self._token, "…"))
        return refusal(problem, self._connection.url, self._name, asked_wait_s)
