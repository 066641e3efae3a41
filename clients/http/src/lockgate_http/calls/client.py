"""The client of the coordinator, with one method per route.

Every call ends within `Coordinator(timeout)`, even if the server hangs. Only a long poll (`wait`)
and the event streams take longer. If a call fails for a reason that may pass, it is repeated within
that time. After that, the caller may repeat the call. Repeating a request is safe, because a
request states what is true now, and not what has changed.
"""

import json
import secrets
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

from lockgate.wire.codec import from_json, to_json
from lockgate.wire.events import (
    GroupConfig,
    ProgressEvent,
    ReaderRegistrationEvent,
    RegistrationAnswer,
    ReportedWatermarkEvent,
)
from lockgate.wire.events import WatermarkAlignmentEvent as Event
from lockgate.wire.split_events import NumberedSplit, SplitAnswer, SplitExchange
from lockgate_http.calls.answers import (
    Answer,
    NotACoordinator,
    NotRegistered,
    Problem,
    Stale,
    Unreachable,
    Unstreamed,
    Untrusted,
    refusal,
)
from lockgate_http.calls.connection import Connection
from lockgate_http.calls.credentials import Access
from lockgate_http.calls.retry import Pace, until_answered
from lockgate_http.config import Coordinator
from lockgate_http.duration import milliseconds
from lockgate_http.errors import AccessDenied, AlignmentError
from lockgate_http.history import record

if TYPE_CHECKING:
    import httpx

__all__ = ["CoordinatorClient", "NotACoordinator", "NotRegistered", "Registered", "Stale", "Unreachable", "Untrusted"]

PAGE = 1000
"""The number of entries in a page of a list."""
TOO_SLOW = "if it is only slow, set a longer Coordinator(timeout=…)"

T = TypeVar("T")

Report = tuple[str, ReportedWatermarkEvent]
"""A source's name, and the report of one of its readers."""


@dataclass(frozen=True, slots=True)
class Registered:
    """The newest registration of a reader, and its present `state`, such as `lost`."""

    epoch: int
    owner: str
    attributes: Mapping[str, str]
    state: str = ""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A group's configuration, and the time (ms) at which an operator set it, or None."""

    config: GroupConfig
    configured_at: int | None


@dataclass(frozen=True, slots=True)
class Reported:
    """The answer to a batch of reports: the group's event, and the errors of rejected reports.

    `rejected` contains the errors by the report's index in the batch.
    """

    alignment: Event
    rejected: Mapping[int, AlignmentError]


class CoordinatorClient(Connection):
    """The client of one coordinator, for one group. A call takes at most `timeout_s` seconds.

    Calls raise `NotRegistered` if the group or the reader does not exist. They raise `Stale` if the
    coordinator has a newer epoch of the reader.
    """

    def __init__(
        self, coordinator: Coordinator, transport: "httpx.AsyncBaseTransport | None" = None, pace: Pace | None = None
    ) -> None:
        super().__init__(Access.of(coordinator), transport)
        self._name = coordinator.group
        self._group = f"/v1/groups/{coordinator.group}"
        self.timeout_s = milliseconds("Coordinator(timeout)", coordinator.timeout) / 1000
        self._pace = pace or Pace()

    def config(self) -> GroupConfig:
        return self.configuration().config

    def configuration(self) -> Configuration:
        """Return the group's configuration, with the time at which an operator set it."""
        return self._read(
            self._send("GET", self._group, params={"limit": 1}),
            lambda answer: Configuration(from_json(GroupConfig, answer["config"]), answer.get("configured_at")),
        )

    def groups_from(self, first: str) -> list[str]:
        """Return up to 100 names of groups that sort after `first` and that the token may see."""
        answer = self._send("GET", "/v1/groups", params={"limit": 100, "after": first})
        return self._read(answer, lambda body: [str(item["group"]) for item in body["items"]])

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        """Request all pages of `path`, an endpoint that describes a group or source, and yield each
        as decoded JSON.
        """
        after: dict[str, Any] = {}
        while True:
            answer = self._send("GET", path, params={"limit": PAGE, **after})
            page = self._read(answer, lambda body: {**body, "next": body["next"]})
            yield page
            if page["next"] is None:
                return
            after = {"after": page["next"]}

    def register(self, source: str, registration: ReaderRegistrationEvent) -> RegistrationAnswer:
        """Open a new epoch of a reader.

        Raises `CoordinatorRefused` if another owner's lease of the reader still runs.

        After a lost answer, the retry opens another epoch. If the coordinator applies the two
        requests in reverse order, the returned epoch is not the newest one. `registered` returns
        the newest one.
        """
        answer = self._send("POST", f"{self._group}/sources/{source}/readers", json=to_json(registration))
        opened = self._message(RegistrationAnswer, answer)
        self._record("registered", opened.alignment, source=source, subtask=opened.subtask, epoch=opened.epoch)
        return opened

    def registered(self, source: str) -> dict[int, Registered]:
        """Return the newest registration of each reader of `source`, by subtask."""
        return {
            int(reader["subtask"]): Registered(
                int(reader["epoch"]), str(reader["owner"]), dict(reader["attributes"]), str(reader.get("state", ""))
            )
            for page in self.pages(f"{self._group}/sources/{source}")
            for reader in page["readers"]
        }

    def leave(self, source: str, subtask: int, epoch: int) -> None:
        path = f"{self._group}/sources/{source}/readers/{subtask}"
        # The same key in each retry: the coordinator may have taken the one whose answer was lost.
        self._send("DELETE", path, params={"epoch": epoch}, headers={"Idempotency-Key": secrets.token_hex(16)})

    def report(self, reports: Sequence[Report]) -> Reported:
        """Send reports in one request. Each report is accepted or rejected separately."""
        body = {"reports": [{"source": source, **to_json(report)} for source, report in reports]}
        answer = self._send("POST", f"{self._group}/watermarks", json=body)
        reported = self._read(
            answer,
            lambda body: Reported(
                from_json(Event, body["alignment"]),
                {int(no["index"]): self._refusal(Problem.from_json(no)) for no in body["rejected"]},
            ),
        )
        taken = [
            [source, report.subtask, report.epoch, report.watermark]
            for index, (source, report) in enumerate(reports)
            if index not in reported.rejected
        ]
        self._record("reported", reported.alignment, taken=taken)
        return reported

    def exchange_splits(self, source: str, subtask: int, exchange: SplitExchange) -> SplitAnswer:
        path = f"{self._group}/sources/{source}/readers/{subtask}/splits"
        answer = self._message(SplitAnswer, self._send("POST", path, json=to_json(exchange)))
        own = exchange.report
        self._record(
            "exchanged",
            answer.alignment,
            source=source,
            taken=[] if own is None else [[source, subtask, own.epoch, own.watermark]],
            held=_positions(exchange.held),
            given_back=_positions(exchange.given_back),
            stop=[[each.split, each.assignment] for each in answer.stop],
        )
        return answer

    def offer(self, source: str, progress: ProgressEvent) -> None:
        """Send the progress of an executor while its batch is still running."""
        self._send("POST", f"{self._group}/sources/{source}/progress", json=to_json(progress))

    def alignment(self) -> Event:
        event = self._message(Event, self._send("GET", f"{self._group}/alignment"))
        self._record("heard", event)
        return event

    async def wait(self, after: int, wait_ms: int) -> Event | None:
        """Return the group's event once its revision is above `after`, or None after `wait_ms`."""
        query = {"after": after, "wait_ms": wait_ms}
        answer = await self._answer(
            "GET", f"{self._group}/alignment", within_s=self.timeout_s + wait_ms / 1000, params=query
        )
        event = None if answer.status == 204 else self._message(Event, answer)
        self._record("heard", event)
        return event

    async def events(self) -> AsyncGenerator[Event | None, None]:
        """Yield the group's event now and after each change, and None for each heartbeat.

        Raises `Unstreamed` if the answer is not a stream. The request has no `Last-Event-ID`, so
        the server sends an event at once, which shows that the stream gets through.
        """
        async with aclosing(self._stream(f"{self._group}/alignment/events")) as blocks:
            async for block in blocks:
                yield self._event(block[1]) if block is not None and block[1] else None

    async def split_news(self, source: str, subtask: int, epoch: int) -> AsyncGenerator[float | None, None]:
        """Yield the revision of one reader's splits, now and after each change.

        Yield infinity if an event about splits has no revision, and None for heartbeats and other
        events. Raises `Unstreamed` like `events`.
        """
        path = f"{self._group}/sources/{source}/readers/{subtask}/events"
        async with aclosing(self._stream(path, params={"epoch": epoch})) as blocks:
            async for block in blocks:
                is_of_splits = block is not None and block[0] not in (b"", b"watermark-alignment")
                yield _revision_in(block[1]) if block is not None and is_of_splits else None

    async def _stream(self, path: str, **request: Any) -> AsyncGenerator[tuple[bytes, bytes] | None, None]:
        """Yield the name and the data of each event in a stream.

        For each piece of the stream that arrives, such as a heartbeat, yield None first.
        """
        headers = {"Accept": "text/event-stream"}
        async with self.open("GET", path, headers=headers, **request) as answer:
            if answer.status_code != 200:
                raise self._no_stream(await self.read(answer))
            if not answer.headers.get("content-type", "").startswith("text/event-stream"):
                raise Unstreamed(
                    f"{self.url} answered with content-type {answer.headers.get('content-type')} "
                    "instead of an event stream"
                )
            rest = b""
            async for part in answer.aiter_raw():
                *blocks, rest = (rest + part).split(b"\n\n")
                self.check_size(len(rest))
                yield None
                for block in blocks:
                    fields = [line.partition(b":")[::2] for line in block.splitlines()]
                    name, data = (
                        b"".join(value.strip() for field, value in fields if field == wanted)
                        for wanted in (b"event", b"data")
                    )
                    yield name, data

    def _send(self, method: str, path: str, **request: Any) -> Answer:
        return self.call(lambda: self._answer(method, path, self.timeout_s, **request))

    async def _answer(self, method: str, path: str, within_s: float, **request: Any) -> Answer:
        async def once() -> Answer:
            answer = await self.send(method, path, **request)
            if not 200 <= answer.status < 300:
                raise self._refusal(Problem.of(answer), answer.asked_wait_s)
            return answer

        try:
            return await until_answered(once, self.url, within_s, self._pace, TOO_SLOW)
        except Unreachable:
            self._record_failure()
            raise

    def _read(self, answer: Answer, decode: Callable[[dict[str, Any]], T]) -> T:
        return self._decoded(lambda: decode(answer.json()))

    def _message(self, kind: type[T], answer: Answer) -> T:
        return self._read(answer, lambda body: from_json(kind, body))

    def _no_stream(self, answer: Answer) -> AlignmentError:
        refusal = self._refusal(Problem.of(answer), answer.asked_wait_s)
        is_coordinators = isinstance(refusal, NotRegistered | Stale | AccessDenied) or answer.asked_wait_s is not None
        return refusal if is_coordinators else Unstreamed(f"no stream of events: {refusal}")

    def _event(self, data: bytes) -> Event:
        event = self._decoded(lambda: from_json(Event, json.loads(data)))
        self._record("heard", event)
        return event

    def _record(self, kind: str, event: Event | None, **fields: Any) -> None:
        """Append a line about `event`, unless it is None, to the process's history."""
        if event is not None:
            heard = {"revision": event.revision, "read_limit": event.max_desired_watermark}
            record(kind, self._name, lambda: {**heard, **fields})

    def _decoded(self, decode: Callable[[], T]) -> T:
        """Return the result of `decode`. Raises `NotACoordinator` if `decode` fails."""
        try:
            return decode()
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise NotACoordinator(
                f"{self.url} did not answer as a lockgate coordinator does; is Coordinator(url=…) right?"
            ) from error

    def _trouble(self, error: Exception) -> Unreachable:
        self._record_failure()
        return super()._trouble(error)

    def _record_failure(self) -> None:
        record("unreachable", self._name, dict)

    def _refusal(self, problem: Problem, asked_wait_s: float | None = None) -> AlignmentError:
        if problem.status >= 500:
            self._record_failure()
        return refusal(self.without_token(problem), self.url, self._name, asked_wait_s)


def _positions(splits: Sequence[NumberedSplit]) -> list[list[Any]]:
    """Return `[id, assignment number, position, restored]` for each split, for the history."""
    return [[each.split.split_id, each.assignment, each.split.starting_offset, each.restored] for each in splits]


def _revision_in(data: bytes) -> float:
    """Return the revision in an event about a reader's splits, or infinity if there is none."""
    try:
        revision = json.loads(data)["revision"]
    except (ValueError, LookupError, TypeError):
        return inf
    return revision if isinstance(revision, int) else inf
