"""The client of the operator's commands, with one method for each route, and its errors.

If the connection breaks, the client repeats the request with the same `Idempotency-Key`. After the
status 429, it first waits for the time in `Retry-After`.
"""

import difflib
import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from lockgate import __version__
from lockgate.errors import InvalidMessage
from lockgate.wire.codec import from_json
from lockgate.wire.events import GroupConfig
from lockgate.wire.fields import Json
from lockgate_http.calls.answers import PASSING, Answer, NotRegistered, Problem, Unreachable, Untrusted
from lockgate_http.calls.connection import Connection
from lockgate_http.calls.credentials import Access
from lockgate_http.calls.retry import Pace, until_answered
from lockgate_http.errors import AlignmentError

if TYPE_CHECKING:
    import httpx

TIMEOUT_S = 10.0
ATTEMPTS = 3
PAGE = 1000
"""The most items that the service returns in a page."""
MOST_BYTES = 1 << 30

HINTS: Mapping[int, str] = {
    401: "set --token-file, or LOCKGATE_TOKEN, to a token of this coordinator",
    403: "the token's role or its groups do not allow it",
    429: "too many requests with this token: try again in a moment",
}


class Fault(AlignmentError):
    """Raised if a command fails. The text is one line with a remedy, and contains no secret."""


class NotFound(Fault, NotRegistered):
    """Raised for an unknown group, source or reader. `kind` is the problem type."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text)
        self.kind = kind


class Flags(Access):
    """Connection options that error messages name as on the command line, such as `--ca`."""

    __slots__ = ()

    def option(self, *names: str) -> str:
        """Return the options `names` as on the command line, such as `--cert and --key`."""
        return " and ".join(f"--{name.replace('_', '-')}" for name in names)

    def given(self, *names: str) -> str:
        """Return those of the options `names` that are set, such as `--ca ca.pem`."""
        return " ".join(f"{self.option(name)} {getattr(self, name)}" for name in names if getattr(self, name))


class FoundConfig(NamedTuple):
    """A group's configuration and its `ETag`."""

    config: GroupConfig
    etag: str


class OperatorClient(Connection):
    """A client of one coordinator, for use from one thread.

    Tests pass their own `transport` (httpx) and `pace` (clock, sleep and random numbers). Raises
    `ConfigurationError` if the files of `access` cannot be used.
    """

    def __init__(
        self, access: Access, transport: "httpx.AsyncBaseTransport | None" = None, pace: Pace | None = None
    ) -> None:
        super().__init__(access, transport, MOST_BYTES)
        self._pace = pace or Pace()
        self._headers = {"User-Agent": f"lockgate/{__version__}"}

    def mark(self, request_id: str) -> None:
        """Send `request_id` with all further requests, for the coordinator's audit log."""
        self._headers["X-Request-Id"] = request_id

    def configuration(self, group: str) -> FoundConfig:
        """Return the group's configuration. Raises `Fault` if this client cannot read it."""
        answer = self._send("GET", f"/v1/groups/{group}", limit=1)
        try:
            return FoundConfig(from_json(GroupConfig, answer.json()["config"]), answer.headers["etag"])
        except (ValueError, LookupError, TypeError, InvalidMessage) as error:
            raise Fault(f"group {group} cannot be read: {self._version_text()}") from error

    def configure(self, group: str, config: Json, etag: str | None) -> None:
        """Create a group. With an `etag`, replace the configuration of an existing group instead.
        Raises `Fault` if the group to create exists already, or if the `etag` is no longer valid.
        """
        condition = {"If-None-Match": "*"} if etag is None else {"If-Match": etag}
        self._send("PUT", f"/v1/groups/{group}", condition, config)

    def groups(self) -> Json:
        """Return the list of all groups, combined from all its pages."""
        pages = list(self.pages("/v1/groups"))
        found = {"items": [item for page in pages for item in page["items"]], "next": None}
        unreadable = [item for page in pages for item in page.get("unreadable", [])]
        return {**found, "unreadable": unreadable} if unreadable else found

    def group(self, group: str, limit: int, after: str | None = None) -> Json:
        """Return the group with up to `limit` readers, from the first or after SOURCE/SUBTASK."""
        return self._json(f"/v1/groups/{group}", limit=limit, after=after)

    def whole_group(self, group: str) -> tuple[Json, dict[str, list[Json]]]:
        """Return the group, and all of its readers by source."""
        first, readers = None, dict[str, list[Json]]()
        for page in self.pages(f"/v1/groups/{group}"):
            first = first or page
            for each in page["sources"]:
                readers.setdefault(each["source"], []).extend(each["readers"])
        return first or {}, readers

    def source(self, group: str, source: str, limit: int, after: str | None = None) -> Json:
        """Return a source with up to `limit` readers and their splits, from the first or after a
        subtask.
        """
        return self._json(f"/v1/groups/{group}/sources/{source}", limit=limit, after=after)

    def whole_source(self, group: str, source: str) -> Json:
        """Return one source with all of its readers and their splits."""
        pages = list(self.pages(f"/v1/groups/{group}/sources/{source}"))
        return {**pages[-1], "readers": [reader for page in pages for reader in page["readers"]]}

    def splits(self, group: str, source: str) -> Json:
        """Return the list of all splits of a source, combined from all its pages."""
        pages = list(self.pages(f"/v1/groups/{group}/sources/{source}/splits"))
        return {**pages[0], "items": [item for page in pages for item in page["items"]], "next": None}

    def pages(self, path: str) -> Iterator[Json]:
        """Yield the pages of the list at `path`."""
        page = self._json(path, limit=PAGE)
        yield page
        while page["next"] is not None:
            page = self._json(path, limit=PAGE, after=page["next"])
            yield page

    def evict(self, group: str, source: str, subtask: int) -> None:
        self._send("DELETE", f"/v1/groups/{group}/sources/{source}/readers/{subtask}", force="true")

    def pause(self, group: str, source: str, reason: str) -> None:
        self._send("PUT", f"/v1/groups/{group}/sources/{source}/pause", body={"reason": reason})

    def resume(self, group: str, source: str) -> None:
        self._send("DELETE", f"/v1/groups/{group}/sources/{source}/pause")

    def journal(self, group: str, *, limit: int, **params: str) -> list[Json]:
        """Return up to `limit` journal entries. `params` are further parameters, such as `kind`."""
        items: list[Json] = self._json(f"/v1/groups/{group}/journal", limit=limit, **params)["items"]
        return items

    def samples(self, group: str) -> list[Json]:
        """Return the recorded samples of the group's watermarks, beginning with the oldest."""
        found: list[Json] = self._send("GET", f"/v1/groups/{group}/samples").json()["samples"]
        return found

    def delete(self, group: str) -> None:
        self._send("DELETE", f"/v1/groups/{group}")

    def with_near_names(self, fault: NotFound, group: str, source: str | None = None) -> Fault:
        """Return a fault whose text also lists existing names, the most similar first. If the names
        cannot be listed, return `fault` itself.
        """
        try:
            if fault.kind == "unknown-group":
                near = _near(group, (item["group"] for item in self.groups()["items"]))
                return Fault(f"{fault}; {_there_is('groups', near)}")
            found = {each["source"]: each["readers"] for each in self.group(group, PAGE)["sources"]}
            if fault.kind == "unknown-source":
                return Fault(f"{fault}; {_there_is('sources', _near(source or '', found))}")
            subtasks = [str(reader["subtask"]) for reader in found.get(source or "", [])]
            return Fault(f"{fault}; {_there_is('subtasks', subtasks[:10])}")
        except AlignmentError:  # the token may not list groups
            return fault

    def _json(self, path: str, **params: Any) -> Json:
        answer = self._send("GET", path, **{name: value for name, value in params.items() if value is not None})
        try:
            body = answer.json()
        except ValueError:
            body = None
        if not isinstance(body, dict) or "next" not in body:
            raise Fault(f"{self.url} does not answer like lockgate {__version__}: {self._version_text()}")
        return body

    def _send(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: Json | None = None, **params: Any
    ) -> Answer:
        once = {} if method == "GET" else {"Idempotency-Key": secrets.token_hex(16)}
        answer = self._answer(method, path, headers={**(headers or {}), **once}, params=params, json=body)
        if not 200 <= answer.status < 300:
            raise self._refusal(answer)
        return answer

    def _answer(self, method: str, path: str, headers: Mapping[str, str], **request: Any) -> Answer:
        """Send a request, repeat it after temporary failures, such as a status in `PASSING`, and
        return the first final answer. Raises `Unreachable` if there is no final answer within
        `TIMEOUT_S` or `ATTEMPTS` attempts.
        """

        async def answered() -> Answer:
            try:
                answer = await self.send(method, path, headers={**self._headers, **headers}, **request)
            except Untrusted:
                raise
            except Unreachable as error:
                raise Unreachable(f"{error}; check --url", error.passing) from error
            if answer.status in PASSING:
                # A store that is away is reported at once: `check` is asked by probes.
                asked_wait_s = answer.asked_wait_s if answer.status == 429 else None
                raise Unreachable(self._text(answer), passing=True, asked_wait_s=asked_wait_s)
            return answer

        return self.call(lambda: until_answered(answered, self.url, TIMEOUT_S, self._pace, "check --url", ATTEMPTS))

    def _refusal(self, answer: Answer) -> Fault:
        problem = self._problem(answer)
        if answer.status != 404 or not problem.detail:
            return Fault(self._text(answer))
        if problem.type == "about:blank":
            return Fault(f"the service has no {problem.detail}: {self._version_text()}")
        return NotFound(problem.detail, problem.type.removeprefix("urn:lockgate:"))

    def _text(self, answer: Answer) -> str:
        """Return the text of the error in `answer`, with a remedy if there is one."""
        status, detail = answer.status, self._problem(answer).detail
        if not detail:
            return f"{self.url} answers {status}, but not like a lockgate coordinator: check --url"
        return f"{detail}: {HINTS[status]}" if status in HINTS else detail

    def _problem(self, answer: Answer) -> Problem:
        return self.without_token(Problem.of(answer))

    def _version_text(self) -> str:
        """Return text with the service's name and version, or a hint if it gives neither."""
        try:
            info = self._answer("GET", "/openapi.json", {}).json()["info"]
            return f"it is {info['title']} {info['version']}, and this command is of {__version__}"
        except (AlignmentError, ValueError, LookupError, TypeError):
            return "it may be another service or version; check --url"


def _near(name: str, existing: Iterable[str]) -> list[str]:
    """Return up to five `existing` names like `name`, or the first five if none is similar."""
    names = list(existing)
    return difflib.get_close_matches(name, names, 5, 0.4) or names[:5]


def _there_is(what: str, names: list[str]) -> str:
    return f"there are no {what}" if not names else f"existing {what}: {', '.join(names)}"
