"""A client of the coordinator for the operator's commands: one method for each route. Every refusal
raises `Fault`.
"""

import difflib
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import httpx

from lockgate import __version__
from lockgate.errors import InvalidMessage
from lockgate.wire.codec import config_from_json
from lockgate.wire.events import GroupConfig
from lockgate_cli.faults import Fault, NotFound, Unreachable
from lockgate_cli.trust import Trust, distrust

Json = dict[str, Any]

TIMEOUT_S = 10.0
PAGE = 1000
"""The service's limit for one page of a list."""

ATTEMPTS = 3
"""How often a request is made whose connection breaks."""
PATIENCE_S = 120.0
"""How long in all a command waits because the coordinator answers 429."""

HINTS: Mapping[int, str] = {
    401: "set --token-file, or LOCKGATE_TOKEN, to a token of this coordinator",
    403: "the token's role or its groups do not allow it",
    429: "too many requests with this token: try again in a moment",
}

PASSING = frozenset({429, 502, 503, 504})
"""Answers that may be another one in a moment. A proxy gives 502 and 504 of its own."""


@dataclass(frozen=True, slots=True)
class FoundConfig:
    """A group's configuration and its `ETag`."""

    config: GroupConfig
    etag: str


class CoordinatorClient:
    """The coordinator at `url`. `transport` is httpx's, for tests. Raises `Fault` if the files
    of `tls` cannot be used.

    A request whose connection breaks is made again, with the same `Idempotency-Key`. A request that
    is answered with 429 is made again when the coordinator allows.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        tls: Trust = Trust(),  # noqa: B008 – frozen
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._token = token
        self._sleep = sleep
        self._patience_s = PATIENCE_S
        headers = {"User-Agent": f"lockgate/{__version__}"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(
            base_url=url, headers=headers, timeout=TIMEOUT_S, verify=tls.context(), transport=transport
        )

    def mark(self, request_id: str) -> None:
        """Send this id with all further requests, for the coordinator's audit lines."""
        self._http.headers["X-Request-Id"] = request_id

    def configuration(self, group: str) -> FoundConfig:
        """Return the group's configuration. Raises `NotFound`."""
        answer = self._send("GET", f"/v1/groups/{group}", limit=1)
        try:
            return FoundConfig(config_from_json(answer.json()["config"]), answer.headers["ETag"])
        except (ValueError, LookupError, TypeError, InvalidMessage) as error:
            raise Fault(f"group {group} cannot be read: {self._version_text()}") from error

    def configure(self, group: str, config: Json, etag: str | None) -> None:
        """Create the group, or with an `etag` replace the configuration that has it."""
        condition = {"If-None-Match": "*"} if etag is None else {"If-Match": etag}
        self._send("PUT", f"/v1/groups/{group}", condition, config)

    def groups(self) -> Json:
        """Return all groups, from as many pages as needed."""
        items, unreadable, after = list[Json](), list[Json](), ""
        while True:
            page = self._json("/v1/groups", limit=PAGE, after=after)
            items += page["items"]
            unreadable += page.get("unreadable", [])
            if page["next"] is None:
                return {"items": items, "next": None, **({"unreadable": unreadable} if unreadable else {})}
            after = page["next"]

    def group(self, group: str, limit: int, after: str | None = None) -> Json:
        """Return the group with up to `limit` of its readers above `after`, a SOURCE/SUBTASK."""
        return self._json(f"/v1/groups/{group}", limit=limit, **({} if after is None else {"after": after}))

    def source(self, group: str, source: str, limit: int, after: str | None = None) -> Json:
        """Return one source with up to `limit` readers above subtask `after`, and their splits."""
        return self._json(
            f"/v1/groups/{group}/sources/{source}", limit=limit, **({} if after is None else {"after": after})
        )

    def splits(self, group: str, source: str) -> Json:
        """Return all splits of a source, each with its reader."""
        first = page = self._json(f"/v1/groups/{group}/sources/{source}/splits", limit=PAGE)
        while page["next"] is not None:
            page = self._json(f"/v1/groups/{group}/sources/{source}/splits", limit=PAGE, after=page["next"])
            first["items"] += page["items"]
        return {**first, "next": None}

    def evict(self, group: str, source: str, subtask: int) -> None:
        self._send("DELETE", f"/v1/groups/{group}/sources/{source}/readers/{subtask}", force="true")

    def leave(self, group: str, source: str, subtask: int, epoch: int) -> None:
        self._send("DELETE", f"/v1/groups/{group}/sources/{source}/readers/{subtask}", epoch=epoch)

    def pause(self, group: str, source: str, reason: str) -> None:
        self._send("PUT", f"/v1/groups/{group}/sources/{source}/pause", body={"reason": reason})

    def resume(self, group: str, source: str) -> None:
        self._send("DELETE", f"/v1/groups/{group}/sources/{source}/pause")

    def journal(self, group: str, *, limit: int, **params: str) -> list[Json]:
        """Return up to `limit` entries of the journal, by `after`, `kind`, `source` and `order`."""
        items: list[Json] = self._json(f"/v1/groups/{group}/journal", limit=limit, **params)["items"]
        return items

    def samples(self, group: str) -> list[Json]:
        """Return the samples of the group, the oldest first."""
        found: list[Json] = self._send("GET", f"/v1/groups/{group}/samples").json()["samples"]
        return found

    def delete(self, group: str) -> None:
        self._send("DELETE", f"/v1/groups/{group}")

    def with_near_names(self, fault: NotFound, group: str, source: str | None = None) -> Fault:
        """Return the same fault with the existing names, the most similar first."""
        try:
            if fault.kind == "unknown-group":
                near = _near(group, (item["group"] for item in self.groups()["items"]))
                return Fault(f"{fault}; {_there_is('groups', near)}")
            found = self.group(group, PAGE)["sources"]
            if fault.kind == "unknown-source":
                return Fault(
                    f"{fault}; {_there_is('sources', _near(source or '', (each['source'] for each in found)))}"
                )
            subtasks = [
                str(reader["subtask"]) for each in found if each["source"] == source for reader in each["readers"]
            ]
            return Fault(f"{fault}; {_there_is('subtasks', subtasks[:10])}")
        except Fault:  # the token may not list groups
            return fault

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> "CoordinatorClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _json(self, path: str, **params: Any) -> Json:
        answer = self._send("GET", path, **params)
        try:
            body = answer.json()
        except ValueError:
            body = None
        if not isinstance(body, dict) or "next" not in body:
            raise Fault(f"{self._http.base_url} does not answer like lockgate {__version__}: {self._version_text()}")
        return body

    def _send(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: Json | None = None, **params: Any
    ) -> httpx.Response:
        once = {**(headers or {}), **({} if method == "GET" else {"Idempotency-Key": secrets.token_hex(16)})}
        broken = 0
        while True:
            try:
                answer = self._http.request(method, path, params=params, headers=once, json=body)
            except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError) as error:
                broken += 1
                if broken == ATTEMPTS:
                    raise self._unreachable(error) from error
                continue
            except httpx.HTTPError as error:
                raise self._unreachable(error) from error
            if answer.is_success:
                return answer
            if answer.status_code != 429 or not self._waited(answer):
                raise self._refusal(answer)

    def _waited(self, answer: httpx.Response) -> bool:
        """Wait as the answer asks; return False without waiting if that would take too long."""
        asked = answer.headers.get("Retry-After", "")
        pause_s = float(asked[:9]) if asked.isascii() and asked.isdecimal() else 0.0
        if pause_s == 0 or pause_s > self._patience_s:
            return False
        self._patience_s -= pause_s
        self._sleep(pause_s)
        return True

    def _unreachable(self, error: httpx.HTTPError) -> Unreachable:
        if (wrong := distrust(error, str(self._http.base_url))) is not None:
            return Unreachable(wrong)
        return Unreachable(f"{self._http.base_url} does not answer: {error or type(error).__name__}; check --url")

    def _refusal(self, answer: httpx.Response) -> Fault:
        status = answer.status_code
        try:
            problem = answer.json()
            kind, detail = str(problem["type"]).removeprefix("urn:lockgate:"), str(problem["detail"])
        except (ValueError, LookupError, TypeError):
            return (Unreachable if status in PASSING else Fault)(
                f"{self._http.base_url} answers {status}, but not like a lockgate coordinator: check --url"
            )
        if self._token:
            detail = detail.replace(self._token, "…")  # a proxy in between may quote the request
        if status == 404 and kind == "about:blank":
            return Fault(f"the service has no {detail}: {self._version_text()}")
        if status == 404:
            return NotFound(detail, kind)
        text = f"{detail}: {HINTS[status]}" if status in HINTS else detail
        return Unreachable(text) if status in PASSING else Fault(text)

    def _version_text(self) -> str:
        """Return the service's name and version, or a hint if it has none."""
        try:
            info = self._http.get("/openapi.json").json()["info"]
            return f"it is {info['title']} {info['version']}, and this command is of {__version__}"
        except (httpx.HTTPError, ValueError, LookupError, TypeError):
            return "it may be another service or version; check --url"


def _near(name: str, existing: Iterable[str]) -> list[str]:
    """Return up to five names: the similar ones, or the first five if none is similar."""
    names = list(existing)
    return difflib.get_close_matches(name, names, 5, 0.4) or names[:5]


def _there_is(what: str, names: list[str]) -> str:
    return f"there are no {what}" if not names else f"existing {what}: {', '.join(names)}"
