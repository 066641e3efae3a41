"""Describes the waits of a query in words, for log lines and `status`.

A query that is faster than others of its group waits for a moment after each batch, which is not
logged. The first long wait of each kind is a warning, so that people see it without configuring
logs. If waits of one kind follow each other closely, only a long one is logged again.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from lockgate import watermark
from lockgate.duration import spoken, spoken_s
from lockgate.printable import printable
from lockgate.wire.events import Blocker, SourcePause, WatermarkAlignmentEvent
from lockgate_http.duration import milliseconds
from lockgate_http.group.membership import Membership
from lockgate_http.group.outage import Coordination
from lockgate_spark.config import Alignment
from lockgate_spark.errors import WaitedTooLong

log = logging.getLogger("lockgate")

LOGGED_AFTER_S = 2.0
SOON_S, LOGGED_AGAIN_AFTER_S = 60.0, 30.0
_NAMED = 3  # readers in one sentence


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait of a query: its cause, and the words for log lines and `status`.

    Attributes:
        names: What the query waits for, as in `AlignmentStatus.waits_for`.
        what: The same, as text that follows the words "waits for".
        why: A sentence that explains the wait.
        brief: Whether the wait ends by itself within seconds.
        is_logged: Whether other code has logged the beginning of the wait.
        leaves: A sentence on what a run that ends here leaves for the next one.
    """

    kind: Literal["coordinator", "group", "operator", "partition", "window"]
    names: str
    what: str
    why: str
    brief: bool = False
    is_logged: bool = False
    leaves: str = ""


def for_coordinator(last: WatermarkAlignmentEvent | None) -> Wait:
    why = (
        "it has not answered yet, and nothing is read before its first answer"
        if last is None
        else f"it does not answer, and nothing above its last read limit, {_read_limit(last)}, is read meanwhile"
    )
    return Wait("coordinator", "the coordinator", "the coordinator", why, is_logged=last is None)


def for_group(group: str, event: WatermarkAlignmentEvent | None, next_at: int | None) -> Wait:
    """`next_at` is the event time (ms) of the next record."""
    what = f"its group {group}"
    if event is None or not event.blocked_by:
        return Wait("group", "", what, "not all of its queries have reported yet")
    names, lowest, below = ", ".join(map(reader, event.blocked_by)), event.group_watermark, ""
    if next_at is not None and watermark.MIN < lowest < next_at:
        below = f", {spoken(next_at - lowest)} below the next record here"
    why = f"{blocked_by(event)}{below}. Nothing above the group's read limit, {_read_limit(event)}, is read meanwhile"
    return Wait("group", names, what, why)


def for_operator(group: str, pause: SourcePause) -> Wait:
    said = f': "{pause.reason}"' if pause.reason else ""
    why = (
        f"{operator(pause)} paused it at {watermark.instant(pause.at)}{said}. To let it read on: "
        f"lockgate resume {group} {pause.source}"
    )
    return Wait("operator", operator(pause), "an operator", why)


def for_member(membership: Membership, next_at: int | None) -> Wait:
    """Return the wait of a group's member at its read limit, below `next_at`, the event time (ms)
    of the next record.
    """
    if membership.coordination is Coordination.HOLDING:
        return for_coordinator(membership.last)
    if membership.paused is not None:
        return for_operator(membership.group, membership.paused)
    return for_group(membership.group, membership.last, next_at)


def check_max_wait(alignment: Alignment, waited_s: float, what: str, event: WatermarkAlignmentEvent | None) -> None:
    """Raise `WaitedTooLong` if `waited_s` is above `Alignment(max_wait)`. The message says `what`
    has waited, and for which readers.
    """
    allowed = None if alignment.max_wait is None else milliseconds("Alignment(max_wait)", alignment.max_wait)
    if allowed is not None and waited_s * 1000 > allowed:
        raise WaitedTooLong(f"{what}, and max_wait is {spoken(allowed)}; {blocked_by(event)}")


def operator(pause: SourcePause) -> str:
    return "an operator" if pause.by is None else f"operator {pause.by}"


def for_split(split: str, why: str, horizon: int, *, brief: bool = False) -> Wait:
    """Return the wait for a partition `split` that may still bring older records. `why` completes a
    sentence that begins with its name. Nothing above `horizon` (ms) is read meanwhile.
    """
    until = watermark.instant(horizon, "the first record")
    reason = f"{split} {why}. Records above {until} are read once no older one can come from it"
    leaves = f"Records above {until} are left for the next run: {split} {why}."
    return Wait("partition", split, f"partition {split}", reason, brief, leaves=leaves)


def for_window(end: int) -> Wait:
    open_ = f"that ends at {watermark.instant(end)} is still open"
    why = f"the one {open_}. It is read as a whole, once no partition can bring another record of it"
    leaves = f"The window {open_}, and is left for the next run."
    return Wait("window", "a whole window", "the next whole window", why, leaves=leaves)


def blocked_by(event: WatermarkAlignmentEvent | None) -> str:
    """Return, as text, the readers that a group waits for, each with its watermark."""
    if event is None or not event.blocked_by:
        return "blocked by no reader"
    named = []
    for each in event.blocked_by[:_NAMED]:
        split = "" if each.split is None else f" (partition {each.split})"
        none = each.watermark == watermark.MIN
        at = ", which has reported no event time yet" if none else f" at {watermark.instant(each.watermark)}"
        named.append(f"{reader(each)}{split}{at}")
    more = len(event.blocked_by) - _NAMED
    return f"blocked by {', '.join(named)}{f' and {more:,} more' if more > 0 else ''}"


def reader(blocker: Blocker) -> str:
    return f"{blocker.source}/{blocker.subtask}"


class Waits:
    """Follows the waits of the query `name`, and logs them. `now` is a monotonic clock (s)."""

    def __init__(self, name: str, now: Callable[[], float]) -> None:
        self._name, self._now = name, now
        self._present: Wait | None = None
        self._since = 0.0
        self._level: int | None = None  # at which the present wait was logged
        self._ended: dict[str, float] = {}  # of each kind that was logged, the end of its last wait

    @property
    def present(self) -> tuple[Wait, float] | None:
        """The current wait, and how long (s) it has lasted; None without a wait."""
        wait = self._present  # another thread may end it meanwhile
        return None if wait is None else (wait, max(0.0, self._now() - self._since))

    def seen(self, wait: Wait | None, target: int | None = None) -> None:
        """Set the current wait with each plan, and log what is due. `wait` is None if the query
        reads on, up to `target` (ms; None if nothing is left to read).
        """
        if self._present is not None and (wait is None or wait.kind != self._present.kind):
            if wait is not None:
                self._end(f"now waits for {wait.what}")
            elif target is None:
                self._end("has nothing left to read")
            else:
                self._end(f"reads on to {watermark.instant(target, unbounded='the end of the data')}")
        if wait is None:
            return
        if self._present is None:
            self._since = self._now()
            self._level = logging.WARNING if wait.is_logged else None
        self._present = wait
        if self._level is None and self._now() - self._since >= self._logged_after(wait):
            self._level = logging.INFO if wait.brief or wait.kind in self._ended else logging.WARNING
            log.log(self._level, "%s waits for %s: %s", self._name, wait.what, wait.why)

    def close(self) -> None:
        if self._present is not None:
            self._end("the run ends")

    def _logged_after(self, wait: Wait) -> float:
        ended = self._ended.get(wait.kind)
        return LOGGED_AFTER_S if ended is None or self._since - ended >= SOON_S else LOGGED_AGAIN_AFTER_S

    def _end(self, then: str) -> None:
        assert self._present is not None
        ended, self._present = self._present, None
        now = self._now()
        if self._level is not None or ended.kind in self._ended:
            self._ended[ended.kind] = now
        if self._level is not None:
            words = self._name, spoken_s(now - self._since), ended.what, then
            log.log(self._level, "%s waited %s for %s, and %s", *words)


def sentence(name: str, wait: Wait, lasted_s: float) -> str:
    """Return a sentence on what `name` has waited for in the last `lasted_s` seconds, and why."""
    lasts = f" (for {spoken_s(lasted_s)} so far)" if lasted_s >= 1 else ""
    return printable(f"{name} waits for {wait.what}{lasts}: {wait.why}.")


def _read_limit(event: WatermarkAlignmentEvent) -> str:
    return watermark.instant(event.max_desired_watermark, "which is not set yet", "which is open")
