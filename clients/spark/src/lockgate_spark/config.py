"""The user's settings for one query. `Coordinator`, of all clients, has those of its group."""

from dataclasses import dataclass
from typing import Any, Literal

from lockgate.plan.model import Bounds
from lockgate.plan.windows import fits
from lockgate.watermark import MAX
from lockgate_http.config import Coordinator, Named
from lockgate_http.duration import Duration, milliseconds
from lockgate_http.errors import ConfigurationError
from lockgate_spark.event_times import Credible

_MAX_DRIFT_MS = 300_000
_IDLE_TIMEOUT_MS = 60_000  # for gates and for closing windows, which do not go by each producer's own lag
_CHOICES = {
    "mode": ("align", "observe"),
    "other_event_time": ("refuse", "warn"),
    "late_rows": ("ignore", "count", "keep"),
}
_TEXTS = {
    "event_time": "a Spark SQL expression",
    "report": "the path of a folder",
    "late_rows_path": "the path of a folder",
    "late_rows_topic": "the name of a topic",
}
EPOCH = "epoch"
"""The `slice_zone` in which windows are multiples of their size since 1970-01-01T00:00Z."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment(Named):
    """Set how a query's partitions stay aligned in event time.

    Each field can also be set in Spark's conf, as `spark.lockgate.<camelCase>`, which overrides the
    code. Durations are text such as `"10 minutes"`, a `timedelta`, or a number of ms. No row is
    late as long as three bounds hold: `max_drift` is at most the query's watermark delay, no
    producer is later than `idle_timeout` or its observed lag, and no record is further out of order
    than `max_out_of_orderness`.

    Examples:
        >>> Alignment(max_drift="5 minutes", event_time="CAST(get_json_object(…) AS TIMESTAMP)")

    Args:
        max_drift: How far a partition may run ahead of one that may still receive older records.
            Default: 5 minutes, or the query's watermark delay if that is shorter. In a group, the
            group's value replaces the default.
        idle_timeout: How late a live producer may be. Default: learned for each partition from the
            observed lag of its producer.
        max_lag: The longest wait for a silent partition if `idle_timeout` is not set. The wait for
            a partition that receives records is at most a day, or `max_lag` if that is longer.
        max_out_of_orderness: How far out of order the records of one partition are, as in Flink.
            Default: the maximum measured so far.
        future_bound: Records stamped further ahead of the clock than this are read, but left out of
            the alignment. None: no such bound.
        past_bound: The same for records stamped further behind the clock than this. Default: no
            bound.
        max_wait: Fail a run under `Trigger.AvailableNow` that is blocked for longer than this.
            Default: no limit.
        slice: End each batch where a window of this size ends, after as many whole windows as
            `maxOffsetsPerTrigger` allows. Default: batches are not cut at windows.
        slice_zone: Time zone in which these windows begin. Default: `spark.sql.session.timeZone`.
            With `"epoch"`, they begin at multiples of `slice` since 1970-01-01T00:00Z, and `slice`
            may have any length.
        mode: `"align"`, or `"observe"` to plan, log and count while Spark reads what it would read
            without lockgate.
        other_event_time: What to do if `withWatermark` is on another event time than the aligned
            one: `"refuse"` the query, or only `"warn"`.
        late_rows: `"count"` the rows that Spark drops as late, `"keep"` them in a table that the
            function `late_rows` reads, or `"ignore"` them. Default: `"count"` in observe mode,
            `"ignore"` otherwise.
        late_rows_path: Path of that table, which several queries may share. Default:
            `lockgate/late_rows` in the query's checkpoint.
        late_rows_topic: Kafka topic to which these rows are written as well, as JSON. It must exist
            on the brokers of the query's first source. Default: no topic.
        report: Folder for the report of observe mode. Default: no report is written.
        event_time: Spark SQL expression over the source's columns that gives a TIMESTAMP, or a
            BIGINT of ms since 1970. Default: Kafka's record timestamp.
        coordinator: The coordinator, and the group that the query joins.

    Raises:
        ConfigurationError: A value is invalid; the message names it.

    """

    max_drift: Duration | None = None
    idle_timeout: Duration | None = None
    max_lag: Duration = "1 hour"
    max_out_of_orderness: Duration | None = None
    future_bound: Duration | None = "1 day"
    past_bound: Duration | None = None
    max_wait: Duration | None = None
    slice: Duration | None = None
    slice_zone: str | None = None
    mode: Literal["align", "observe"] = "align"
    other_event_time: Literal["refuse", "warn"] = "refuse"
    late_rows: Literal["ignore", "count", "keep"] | None = None
    late_rows_path: str | None = None
    late_rows_topic: str | None = None
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
        for name in ("max_wait", "future_bound", "past_bound"):
            _ms(self, name)
        _check_slice(self)
        for name, values in _CHOICES.items():
            if (value := getattr(self, name)) not in values and not (name == "late_rows" and value is None):
                raise ConfigurationError(f"Alignment({name}={value!r}): expected {' or '.join(map(repr, values))}")
        for name, what in _TEXTS.items():
            if (text := getattr(self, name)) is not None and not (isinstance(text, str) and text):
                raise ConfigurationError(f"Alignment({name}={text!r}): expected {what}, as text")
        bounds_of(self)  # checks the durations


def credible_at(alignment: Alignment, now: int) -> Credible:
    """Return the range of credible event times for a plan made at `now` (wall clock, ms)."""
    future, past = _ms(alignment, "future_bound"), _ms(alignment, "past_bound")
    return Credible(0 if past is None else max(0, now - past), MAX if future is None else now + future)


def bounds_of(alignment: Alignment) -> Bounds:
    """Return the planner's bounds, in ms. Without `max_out_of_orderness`, that bound is 0 until
    out-of-order records have been seen. Raises `ConfigurationError` for invalid values.
    """
    drift, order = _ms(alignment, "max_drift", _MAX_DRIFT_MS), _ms(alignment, "max_out_of_orderness", 0)
    if drift <= order:
        raise ConfigurationError(
            f"Alignment(max_drift={alignment.max_drift!r}, max_out_of_orderness={alignment.max_out_of_orderness!r}): "
            "max_drift must be greater than max_out_of_orderness, and greater than 0"
        )
    return Bounds(max_drift=drift, idle_timeout=_ms(alignment, "idle_timeout", _IDLE_TIMEOUT_MS), disorder=order)


def _ms(alignment: Alignment, option: str, default: int | None = None) -> Any:
    """Return the duration in this option, in ms, or `default` if the option is None."""
    value = getattr(alignment, option)
    return default if value is None else milliseconds(f"Alignment({option})", value)


def check_alignment(given: object, call: str) -> None:
    """Raise `ConfigurationError` unless the argument is an `Alignment` or None. `call` is the start
    of the user's call, such as "align(df", for the message.
    """
    if given is None or isinstance(given, Alignment):
        return
    drift = isinstance(given, str | int | float)
    shown, options = (repr(given), f"max_drift={given!r}") if drift else (type(given).__name__, "…")
    raise ConfigurationError(
        f"{call.partition('(')[0]} takes an Alignment, not {shown}: write {call}, Alignment({options}))"
    )


def _check_slice(given: Alignment) -> None:
    window, zone, size = given.slice, given.slice_zone, _ms(given, "slice")
    if zone is not None and not (isinstance(zone, str) and zone.strip()):
        raise ConfigurationError(f'Alignment(slice_zone={zone!r}): expected a zone, as "Europe/Berlin" or "{EPOCH}"')
    if size == 0:
        raise ConfigurationError(f"Alignment(slice={window!r}): must be above 0")
    if size is not None and zone != EPOCH and not fits(size):
        raise ConfigurationError(
            f'Alignment(slice={window!r}): expected what divides a day (such as "6 hours"), "1 day" or "1 week", so '
            f'that windows begin with days. Or set slice_zone="{EPOCH}", for any size, as in Spark\'s window()'
        )
