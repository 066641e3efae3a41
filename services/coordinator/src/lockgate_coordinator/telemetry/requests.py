"""Request metrics: how long reports take, which requests are refused and why, and how many long
polls and streams are open.

They are plain numbers, because each report updates some of them and this must be cheap.
`MeasuredRequests` runs before the guard, so it also counts the requests that the guard refuses. The
application puts the problem type of a refused request, and the outcome of a batch of reports, into
the request's scope.
"""

from collections import Counter
from time import perf_counter
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from lockgate_coordinator.telemetry.histogram import Histogram

PROBLEM: Final = "lockgate.problem"
"""The key in the scope for the problem type of the answer, if the request was refused."""

JUDGED: Final = "lockgate.judged"
"""The key in the scope for a batch's number of accepted reports, and the problem types of the
rest.
"""

SINGLE, BATCH, PROGRESS = "single", "batch", "progress"
POLL, STREAM = "long_poll", "stream"
INTERNAL: Final = "internal-server-error"

_BY_DEPTH: Final = {6: SINGLE, 4: BATCH}
"""The kinds of routes that end in `/watermarks`, by their number of slashes:
`/v1/groups/G/sources/S/watermarks` and `/v1/groups/G/watermarks`.
"""


class RequestFigures:
    """The metrics of all requests.

    Attributes:
        durations: The durations of requests with reports, by kind.
        reports: The number of accepted reports, by kind.
        rejections: The number of rejections, by problem type.
        waiting: The number of long polls and streams that wait for a change now.
    """

    def __init__(self) -> None:
        self.durations = {kind: Histogram() for kind in (SINGLE, BATCH, PROGRESS)}
        self.reports = dict.fromkeys((SINGLE, BATCH, PROGRESS), 0)
        self.rejections: Counter[str] = Counter()
        self.waiting = dict.fromkeys((POLL, STREAM), 0)


class MeasuredRequests:
    """ASGI middleware that measures requests. It must run before middleware that may refuse one."""

    def __init__(self, app: ASGIApp, figures: RequestFigures) -> None:
        self._app = app
        self._figures = figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        kind = _kind(scope["path"]) if scope["method"] == "POST" else None
        wait = _wait(scope["path"]) if scope["method"] == "GET" else None
        if wait is not None:
            self._figures.waiting[wait] += 1
        began = perf_counter()
        try:
            await self._app(scope, receive, send)
        except Exception:
            self._figures.rejections[INTERNAL] += 1
            raise
        finally:
            if wait is not None:
                self._figures.waiting[wait] -= 1
        if kind is not None:
            self._figures.durations[kind].observe(perf_counter() - began)
        if kind in (SINGLE, PROGRESS) and PROBLEM not in scope:
            self._figures.reports[kind] += 1
        else:
            self._judge(scope)

    def _judge(self, scope: Scope) -> None:
        problem = scope.get(PROBLEM)
        if problem is not None:
            self._figures.rejections[problem] += 1
        accepted, problems = scope.get(JUDGED, (0, ()))
        self._figures.reports[BATCH] += accepted
        self._figures.rejections.update(problems)


def _kind(path: str) -> str | None:
    if path.endswith("/watermarks"):
        return _BY_DEPTH.get(path.count("/"))
    return PROGRESS if path.endswith("/progress") else None


def _wait(path: str) -> str | None:
    """Return the kind of a GET request that may wait for a change, or None for other requests."""
    return POLL if path.endswith("/alignment") else STREAM if path.endswith("/events") else None
