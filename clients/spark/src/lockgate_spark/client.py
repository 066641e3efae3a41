"""The HTTP client of the coordinator: one method a route, one exception a kind of "no".

`Unreachable` is what may pass (no connection, a time-out, 5xx); `CoordinatorRefused` will not. Nothing is retried here: every
request repeats state that is still true, so the caller simply asks again at its next turn (see `membership`).
"""

import logging
import ssl
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

import httpx

from lockgate import codec
from lockgate.events import GroupConfig, ProgressEvent, ReaderRegistrationEvent, RegistrationAnswer, ReportedWatermarkEvent
from lockgate.events import WatermarkAlignmentEvent as Event
from lockgate_spark.config import Coordinator
from lockgate_spark.duration import milliseconds
from lockgate_spark.errors import AlignmentError, ConfigurationError, CoordinatorRefused

log = logging.getLogger("lockgate")

T = TypeVar("T")


class Unreachable(AlignmentError):
    """The coordinator gave no usable answer this time; asking again later is right."""


class NotRegistered(AlignmentError):
    """The coordinator does not know this group or reader (any more): register, then report again."""


class Stale(AlignmentError):
    """A newer epoch of this reader exists."""


class CoordinatorClient:
    """One coordinator, one group. Thread-safe. `transport` is httpx's, for tests and for proxies."""

    def __init__(self, coordinator: Coordinator, transport: httpx.BaseTransport | None = None) -> None:
        headers = {"Authorization": f"Bearer {coordinator.token}"} if coordinator.token else {}
        self._token = coordinator.token
        self._group = f"/v1/groups/{coordinator.group}"
        self._timeout = milliseconds("Coordinator(timeout)", coordinator.timeout) / 1000
        self._http = httpx.Client(
            base_url=coordinator.url, headers=headers, timeout=self._timeout, verify=_trust(coordinator.ca), transport=transport
        )

    def config(self) -> GroupConfig:
        """The group's configuration. Raises `NotRegistered` when there is no such group."""
        return self._read(self._send("GET", self._group), lambda answer: codec.config_from_json(answer["config"]))

    def register(self, source: str, registration: ReaderRegistrationEvent) -> RegistrationAnswer:
        """Opens a new epoch of a reader. Raises `CoordinatorRefused` when another owner holds it."""
        answer = self._send("POST", f"{self._group}/sources/{source}/readers", json=codec.registration_to_json(registration))
        return self._read(answer, codec.answer_from_json)

    def report(self, reports: list[tuple[str, ReportedWatermarkEvent]]) -> Event:
        """Reports for all readers of a query at once. Raises `NotRegistered` or `Stale` if that is what one of them is told."""
        answer = self._send("POST", f"{self._group}/watermarks", json=codec.reports_to_json(reports))
        rejected, alignment = self._read(answer, lambda body: ([_no(no) for no in body["rejected"]], body["alignment"]))
        for status, kind, detail in rejected:
            raise self._refusal(status, kind, detail)
        return self._read(answer, lambda body: codec.alignment_from_json(alignment))

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
        answer = self._send(
            "GET",
            f"{self._group}/alignment",
            params={"after": after, "wait_ms": wait_ms},
            timeout=self._timeout + wait_ms / 1000,
        )
        return None if answer.status_code == 204 else self._read(answer, codec.alignment_from_json)

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def __enter__(self) -> "CoordinatorClient":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, path, **request)
        except httpx.HTTPError as error:
            raise Unreachable(f"{self._http.base_url} gave no answer: {type(error).__name__}: {error}") from error
        if answer.is_success:
            return answer
        try:
            _, kind, detail = _no(answer.json())
        except (ValueError, AttributeError):
            kind, detail = "", ""  # whoever answered, it was no coordinator
        raise self._refusal(answer.status_code, kind, detail or answer.reason_phrase)

    def _read(self, answer: httpx.Response, decode: Callable[[dict[str, Any]], T]) -> T:
        """The answer's JSON through `decode`. Raises `CoordinatorRefused` for what no coordinator says."""
        try:
            return decode(answer.json())
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise CoordinatorRefused(f"{answer.request.url} did not answer as a lockgate coordinator does; is the URL right?") from error

    def _refusal(self, status: int, kind: str, detail: str) -> AlignmentError:
        """The exception for an error answer; the one table for it."""
        if self._token:
            detail = detail.replace(self._token, "…")  # somebody between us and the coordinator may quote the request
        if status >= 500 or status == 429:
            return Unreachable(f"the coordinator answered {status}: {detail}")
        if status == 404 and kind.startswith("urn:lockgate:"):
            return NotRegistered(detail)
        if status == 409 and kind.endswith("stale-epoch"):
            return Stale(detail)
        hint = {401: " (set Coordinator(token=…))", 403: " (the token's role or groups do not allow it)"}.get(status, "")
        return CoordinatorRefused(f"the coordinator refused with {status} {kind}: {detail}{hint}")


def _no(problem: Any) -> tuple[int, str, str]:
    """Status, type and detail of a problem document."""
    return int(problem.get("status", 500)), str(problem.get("type", "")), str(problem.get("detail", ""))


def _trust(ca: str | None) -> ssl.SSLContext | bool:
    if ca is None:
        return True
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"Coordinator(ca={ca!r}): cannot be read as a certificate file: {error}") from error
