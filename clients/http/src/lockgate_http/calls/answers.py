"""HTTP answers of the coordinator, and an exception for each kind of failure.

A proxy or another server may answer in the coordinator's place. The exceptions that users catch are
in `errors`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from lockgate_http.errors import AccessDenied, AlignmentError, CoordinatorRefused

_MOST_QUOTED = 500  # characters of the server's text in an error message
PASSING = (429, 502, 503, 504)
"""The HTTP statuses after which a retry may succeed. A proxy may send 502 and 504 itself."""


class Unreachable(AlignmentError):
    """Raised if the coordinator gave no usable answer.

    If the failure is `passing`, a retry may succeed in a moment. `asked_wait_s` is the pause (s)
    that the coordinator asks for, or None.
    """

    def __init__(self, text: str, passing: bool = False, asked_wait_s: float | None = None) -> None:
        super().__init__(text)
        self.passing, self.asked_wait_s = passing, asked_wait_s


class Interrupted(Unreachable):
    """Raised if another thread of this process cancelled the call. The caller may repeat it."""


class Unstreamed(Unreachable):
    """Raised if no event stream gets through, for example because of a proxy."""


class Untrusted(Unreachable):
    """Raised if TLS settings are wrong, for example if a certificate is not trusted.

    Retries fail until the client's or the coordinator's settings change.
    """


class NotRegistered(AlignmentError):
    """Raised if the coordinator does not have this group or reader. Register and report again."""


class Stale(AlignmentError):
    """Raised if the coordinator has a newer epoch of this reader."""


class Busy(CoordinatorRefused):
    """Raised if this reader is registered by another owner, whose lease has not expired."""


class NotACoordinator(CoordinatorRefused):
    """Raised if the server that answered is not a coordinator."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response with its body fully read. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the decoded body. Raises ValueError if it is not JSON, or nested too deeply."""
        if self.headers.get("content-type", "").partition(";")[0].strip().lower() not in (
            "application/json",
            "application/problem+json",
        ):
            raise ValueError(f"content-type {self.headers.get('content-type')}")
        try:
            return json.loads(self.body)
        except RecursionError:
            raise ValueError("nested too deeply") from None

    @property
    def asked_wait_s(self) -> float | None:
        """The pause (s) that `Retry-After` asks for, or None if the header is absent or invalid.

        A date is compared with the response's own `Date`, so that the clocks of client and server
        need not agree.
        """
        value = self.headers.get("retry-after", "").strip()
        if value.isascii() and value.isdigit():
            return float(value[:9])  # beyond 30 years it makes no difference
        try:
            return max(
                0.0,
                (parsedate_to_datetime(value) - parsedate_to_datetime(self.headers.get("date", ""))).total_seconds(),
            )
        except (TypeError, ValueError, OverflowError):
            return None


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem document (RFC 9457) about a request or about one report in it."""

    status: int
    type: str
    detail: str

    @classmethod
    def of(cls, answer: Answer) -> "Problem":
        """Return the problem described by an error response, with the response's HTTP status.

        If the response is not a problem document, `type` and `detail` are empty.
        """
        try:
            document = cls.from_json(answer.json())
        except (ValueError, TypeError, OverflowError, AttributeError):
            document = cls(answer.status, "", "")
        return cls(answer.status, document.type, document.detail)

    @classmethod
    def from_json(cls, problem: Any) -> "Problem":
        """Return a problem from decoded JSON, or raise an error that `of` catches."""
        return cls(int(problem.get("status", 500)), str(problem.get("type", "")), str(problem.get("detail", "")))


def refusal(problem: Problem, url: str, group: str, asked_wait_s: float | None = None) -> AlignmentError:
    kind = f" ({problem.type})" if problem.type else ""
    said = f": {problem.detail}" if problem.detail else ""
    quoted = f"{problem.status}{kind}{said}"[:_MOST_QUOTED]
    if problem.status in PASSING:
        return Unreachable(f"{url} answered {quoted}", passing=True, asked_wait_s=asked_wait_s)
    if problem.status >= 500:
        return Unreachable(f"{url} answered {quoted}")
    if problem.status == 404 and problem.type.startswith("urn:lockgate:"):
        return NotRegistered(problem.detail)
    if problem.status == 409 and problem.type.endswith("stale-epoch"):
        return Stale(problem.detail)
    if problem.status == 409 and problem.type.endswith("reader-busy"):
        return Busy(f"{url} refused with {quoted}")
    if problem.status in (401, 403):
        needed = f"Set Coordinator(token=…) to a token with the role `report` for group {group}"
        return AccessDenied(f"{url} refused with {quoted}. {needed}")
    if 300 <= problem.status < 400:
        return NotACoordinator(
            f"{url} answered {quoted}: redirects are not followed; Coordinator(url=…) must be the coordinator's "
            "own address"
        )
    if problem.status == 404:
        return NotACoordinator(
            f"{url} answered {quoted}, which no lockgate coordinator does; is Coordinator(url=…) right?"
        )
    return CoordinatorRefused(f"{url} refused with {quoted}")
