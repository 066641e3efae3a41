"""The settings of a user for one query: frozen, and checked when they are made. `Coordinator`, for
its group, is the same for all clients.
"""

from dataclasses import dataclass
from typing import Literal

from lockgate.plan.model import Bounds
from lockgate.plan.windows import fits
from lockgate.watermark import MAX
from lockgate_client.config import Coordinator, Named
from lockgate_client.duration import Duration, milliseconds
from lockgate_client.errors import ConfigurationError
from lockgate_spark.event_times import Credible

DEFAULT_MAX_DRIFT = "5 minutes"
# for gates, and for closing windows: there no producer's own lag is the bound
DEFAULT_IDLE_TIMEOUT = "1 minute"
_CHOICES = {"mode": ("align", "observe"), "other_event_time": ("refuse", "warn"), "late_rows": ("ignore", "count")}
EPOCH = "epoch"
"""The `slice_zone` in which windows are multiples of their size since 1970-01-01T00:00Z."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment(Named):
    """How a query's splits are kept level in event time.

    `max_drift`: how far a split may run ahead of one that may still bring older records (default 5
    minutes, or the query's watermark delay if that is shorter; in a group the group's value rules).
    `idle_timeout`: how far behind the clock a live producer may be (default: as far as each split's
    own producer has shown). `max_lag`: how much of what was shown a silent split is waited for; one
    that appends is waited for up to a day, or up to a longer `max_lag`.
    `disorder`: how far records of one split are out of order (default: as far as was seen so far).
    `future_bound`, `past_bound`: a record that is stamped further ahead of the clock, or further
    behind it, is left out of the alignment (None: no such bound). `slice`: batches end where
    windows of this size do, as many as the budget allows. `slice_zone`: by the clocks of which time
    zone these begin (default: the session's, `spark.sql.session.timeZone`); `epoch`: multiples
    since 1970-01-01T00:00Z, of any size. `retention_margin`: a paused split is let go where less
    than this share of its topic's retention is left to its records (0: never). `max_hold`: paused
    for longer than this under `Trigger.AvailableNow`, the query fails (default: it waits).
    `mode="observe"`: plans, logs and counts, and lets Spark read what it would read without.
    `event_time`: a Spark SQL expression over the source's columns, a TIMESTAMP or a BIGINT of ms
    since 1970 (default: Kafka's record timestamp); streams of one query that differ in it alone are
    planned together. `other_event_time`: what becomes of a query whose `withWatermark` stands on
    another event time than the one that is aligned. `late_rows="count"`: counts the rows that are
    behind Spark's watermark (default: in mode observe). `report`: the folder for the report of a
    run in mode observe (default: that of LOCKGATE_REPORT, else no files). No row is late while
    `max_drift` is at most the query's watermark delay. Raises `ConfigurationError`.
    """

    max_drift: Duration | None = None
    idle_timeout: Duration | None = None
    max_lag: Duration = "1 hour"
    disorder: Duration | None = None
    future_bound: Duration | None = "1 day"
    past_bound: Duration | None = None
    retention_margin: float | str = 0.1
    max_hold: Duration | None = None
    slice: Duration | None = None
    slice_zone: str | None = None
    mode: Literal["align", "observe"] = "align"
    other_event_time: Literal["refuse", "warn"] = "refuse"
    late_rows: Literal["ignore", "count"] | None = None
    report: str | None = None
    event_time: str | None = None
    coordinator: Coordinator | None = None

    def __post_init__(self) -> None:
        if self.coordinator is not None and not isinstance(self.coordinator, Coordinator):
            raise ConfigurationError(
                f"Alignment(coordinator={self.coordinator!r}): expected a lockgate_spark.Coordinator; write "
                "Coordinator('http://HOST:PORT', group='NAME')"
            )
        milliseconds("Alignment(max_lag)", self.max_lag)
        for name in ("max_hold", "future_bound", "past_bound"):
            if (value := getattr(self, name)) is not None:
                milliseconds(f"Alignment({name})", value)
        _check_slice(self.slice, self.slice_zone)
        for name, values in _CHOICES.items():
            if (value := getattr(self, name)) not in values and not (name == "late_rows" and value is None):
                raise ConfigurationError(f"Alignment({name}={value!r}): expected {' or '.join(map(repr, values))}")
        if self.event_time is not None and not isinstance(self.event_time, str):
            raise ConfigurationError(
                f"Alignment(event_time={self.event_time!r}): expected a Spark SQL expression, as text"
            )
        if self.report is not None and not (isinstance(self.report, str) and self.report):
            raise ConfigurationError(f"Alignment(report={self.report!r}): expected the path of a folder, as text")
        _ = self.bounds, self.retention_share  # checks the durations, and the share

    @property
    def observes(self) -> bool:
        """Whether nothing is to be changed."""
        return self.mode == "observe"

    @property
    def counts_late_rows(self) -> bool:
        """Whether rows behind Spark's watermark are counted."""
        return self.late_rows == "count" or (self.late_rows is None and self.observes)

    def credible(self, now: int) -> Credible:
        """The event times that take part in a plan which is made at `now` (wall clock in ms)."""
        ahead = None if self.future_bound is None else milliseconds("Alignment(future_bound)", self.future_bound)
        behind = None if self.past_bound is None else milliseconds("Alignment(past_bound)", self.past_bound)
        return Credible(0 if behind is None else max(0, now - behind), MAX if ahead is None else now + ahead)

    @property
    def retention_share(self) -> float:
        """`retention_margin` as a number; 0 with `slice`, for a batch must hold no row of a window
        that is still to come.
        """
        margin = _share("Alignment(retention_margin)", self.retention_margin)
        return margin if self.slice is None else 0.0

    @property
    def bounds(self) -> Bounds:
        """The planner's bounds, in ms. Where no `disorder` is set, it is 0 until some is seen.
        Where no `idle_timeout` is set, each split has a bound of its own, and this one is that of
        gates and of windows.
        """
        drift = milliseconds("Alignment(max_drift)", DEFAULT_MAX_DRIFT if self.max_drift is None else self.max_drift)
        idle = milliseconds(
            "Alignment(idle_timeout)", DEFAULT_IDLE_TIMEOUT if self.idle_timeout is None else self.idle_timeout
        )
        disorder = 0 if self.disorder is None else milliseconds("Alignment(disorder)", self.disorder)
        if drift <= disorder:
            raise ConfigurationError(
                f"Alignment(max_drift={self.max_drift!r}, disorder={self.disorder!r}): max_drift must be greater "
                "than disorder, and greater than 0"
            )
        return Bounds(max_drift=drift, idle_timeout=idle, disorder=disorder)


def check_alignment(given: object, call: str) -> None:
    """Raises `ConfigurationError` for anything but an `Alignment` or None. `call`: how the call
    begins that it was given to, such as "align(df".
    """
    if given is None or isinstance(given, Alignment):
        return
    drift = isinstance(given, str | int | float)
    shown, options = (repr(given), f"max_drift={given!r}") if drift else (type(given).__name__, "…")
    raise ConfigurationError(
        f"{call.partition('(')[0]} takes an Alignment, not {shown}: write {call}, Alignment({options}))"
    )


def _share(name: str, value: object) -> float:
    """`value` as a share of the whole, 0 or more and below 1. Raises `ConfigurationError` that
    names the option `name`.
    """
    try:
        found = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else -1.0
    except ValueError:
        found = -1.0
    if not 0 <= found < 1:
        raise ConfigurationError(f"{name}={value!r}: expected a share such as 0.1, at least 0 and below 1")
    return found


def _check_slice(window: Duration | None, zone: object) -> None:
    if zone is not None and not (isinstance(zone, str) and zone.strip()):
        raise ConfigurationError(
            f'Alignment(slice_zone={zone!r}): expected a time zone such as "Europe/Berlin" or "UTC", or "{EPOCH}"'
        )
    if window is None:
        return
    size = milliseconds("Alignment(slice)", window)
    if size == 0:
        raise ConfigurationError(f"Alignment(slice={window!r}): must be above 0")
    if zone != EPOCH and not fits(size):
        raise ConfigurationError(
            f"Alignment(slice={window!r}): such windows do not begin with days, and so fit the clocks of no time "
            "zone. Take what divides a"
            f' day (such as "6 hours"), "1 day", or "1 week", which begins on Monday; or slice_zone="{EPOCH}": '
            "windows of any size, counted"
            " from 1970-01-01T00:00Z on as Spark's window() does"
        )
