"""Waiting until a group has read everything before an event time, for schedulers.

A listener receives each event of the group, by the event stream or by long polls. While the group's
watermark is below the event time, no readers are inspected. After that, each reader is inspected
(`completeness`). If a reader has not passed the event time, the readers are inspected again after
the next event. Some changes, such as an eviction, cause no event, so the wait for the next event
ends after `LOOK_AGAIN_S`.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from lockgate.duration import spoken_s
from lockgate.watermark import instant
from lockgate.wire.codec import to_json
from lockgate.wire.events import WatermarkAlignmentEvent as Event
from lockgate_http.calls.answers import NotRegistered, Unreachable
from lockgate_http.calls.client import CoordinatorClient
from lockgate_http.calls.listener import Listener
from lockgate_http.completeness import Standing, is_below, standing, standing_of_event
from lockgate_http.config import Coordinator
from lockgate_http.duration import Duration, milliseconds
from lockgate_http.errors import AlignmentError, ConfigurationError

log = logging.getLogger("lockgate")

Pages = Callable[[str], Iterable[Mapping[str, Any]]]
"""A function that returns the pages of the list at a path."""

LOOK_AGAIN_S = 20.0
LOOKS_APART_S = 2.0
LOG_AGAIN_S = 60.0

PASSING = (Unreachable, NotRegistered)
"""The errors after which another inspection may succeed. A coordinator that keeps groups in memory
has no group after a restart, until a reader registers again.
"""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def wait_until(coordinator: Coordinator, event_time: datetime, timeout: Duration = "30 minutes") -> bool:
    """Wait until all readers of a group have read everything before an event time.

    The call also waits for lost, stopped and missing readers, so the data before `event_time` is
    complete as far as [the group can promise](../operations.md#wait-for-complete-data).

    Args:
        coordinator: The coordinator's address and the group. The token needs the role `read`.
        event_time: The end of the period, with a time zone.
        timeout: How long to wait at most. With 0, the call asks once.

    Returns:
        True once the group has passed `event_time`, or False after `timeout`.

    Raises:
        ConfigurationError: `event_time` has no time zone, or `timeout` is invalid.
        AlignmentError: The group does not exist, or the coordinator cannot be reached. After the
            first answer, such an error is raised only if it persists until `timeout`.

    """
    until, timeout_s = event_time_ms(event_time), milliseconds("wait_until(timeout)", timeout) / 1000
    group, shown_at = coordinator.group, float("-inf")

    def show(text: str) -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at >= LOG_AGAIN_S:
            shown_at = time.monotonic()
            log.info("group %s has not passed %s: %s", group, instant(until), text)

    with CoordinatorClient(coordinator) as client:
        found = wait(client, lambda: look(client.pages, group, until), until, timeout_s, show)
    if not found.passed:
        log.info("group %s did not pass %s within %s: %s", group, instant(until), spoken_s(timeout_s), found)
    return found.passed


def event_time_ms(event_time: datetime) -> int:
    """Return an event time in ms, rounded up. Raises `ConfigurationError` without a time zone."""
    if not isinstance(event_time, datetime) or event_time.tzinfo is None:
        raise ConfigurationError(f"wait_until(event_time={event_time!r}): expected a datetime with a time zone")
    return -((_EPOCH - event_time) // timedelta(milliseconds=1))  # rounded up


def wait(
    client: CoordinatorClient, look: Callable[[], Standing], until: int, timeout_s: float, show: Callable[[str], None]
) -> Standing:
    """Return the group's standing once it has passed `until` (ms), or after `timeout_s` seconds.

    `look` inspects all readers, and `client` listens for events. `show` is called with the reasons
    why the group has not passed `until`, whenever they may have changed. Errors from `look`
    propagate. Transient ones (`PASSING`) are retried, and propagate only if the first call fails or
    they persist until the timeout.
    """
    ends = time.monotonic() + timeout_s
    found, looked_at = look(), time.monotonic()
    if found.passed or not timeout_s:
        return found
    error: AlignmentError | None = None
    news = _News()
    client.begin(Listener(client, news.tell, lambda: None).listen)
    while time.monotonic() < ends:
        show(str(error or found))
        event = news.next(found.revision, min(looked_at + _pause_s(found, error), ends))
        if event is not None and is_below(event, until):
            found, error = standing_of_event(event, until), None
            continue
        time.sleep(max(0.0, min(looked_at + LOOKS_APART_S, ends) - time.monotonic()))
        looked_at = time.monotonic()
        try:
            found, error = look(), None
        except PASSING as failed:
            error = failed
        if found.passed and error is None:
            return found
    if error is not None:
        raise error
    return found


def _pause_s(found: Standing, error: AlignmentError | None) -> float:
    """Return the time (s) to the next inspection if no event arrives, after `error` or None."""
    due_s = LOOK_AGAIN_S if found.due_ms is None else found.due_ms / 1000
    return LOOKS_APART_S if error else max(LOOKS_APART_S, min(due_s, LOOK_AGAIN_S))


def look(pages: Pages, group: str, until: int) -> Standing:
    """Inspect all readers of a group, and return its standing for the event time `until` (ms).

    If the group's watermark is too low to have passed `until`, only the first page is requested.
    """
    path = f"/v1/groups/{group}"
    first, sources = None, dict[str, None]()
    for page in pages(path):
        first = first or dict(page)
        if is_below(first["alignment"], until):
            return standing_of_event(first["alignment"], until)
        sources |= dict.fromkeys(each["source"] for each in page["sources"])
    assert first is not None  # a list has a page, or an error
    return standing(first, {source: list(_readers(pages, f"{path}/sources/{source}")) for source in sources}, until)


def _readers(pages: Pages, path: str) -> Iterator[dict[str, Any]]:
    try:
        for page in pages(path):
            yield from page["readers"]
    except NotRegistered:  # the last reader of the source has left
        return


class _News:
    """The newest event of a group, passed from the listener's thread to the waiting one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._event: dict[str, Any] | None = None

    def tell(self, event: Event) -> None:
        with self._changed:
            self._event = to_json(event)
            self._changed.notify_all()

    def next(self, revision: int, until_s: float) -> dict[str, Any] | None:
        """Wait for an event whose revision is not `revision`, and return it.

        It must have arrived since the last call. Return None if there is none by `until_s`
        (monotonic seconds).
        """

        def is_new() -> bool:
            return self._event is not None and self._event["revision"] != revision

        with self._changed:
            self._changed.wait_for(is_new, max(0.0, until_s - time.monotonic()))
            event, self._event = self._event if is_new() else None, None
            return event
