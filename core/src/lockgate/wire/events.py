"""The wire events: the messages between readers and the coordinator.

They follow Flink's operator events between `SourceOperator` and `SourceCoordinator`:
`ReaderRegistrationEvent`, `ReportedWatermarkEvent`, `WatermarkAlignmentEvent`. Flink's events carry
one number each. These carry an epoch as well: over HTTP only the epoch tells a reader from its
predecessor. They also carry the numbers that show a person which reader waits for which.

This module has values only: `codec` has their JSON form, `lockgate.group` the rules. Times are
milliseconds since the Unix epoch, `watermark.MIN` to `watermark.MAX`. Used by the coordinator and
by its clients.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from lockgate.errors import InvalidValue
from lockgate.watermark import MAX

NAME_PATTERN = r"(?:\.{0,2}[A-Za-z0-9_:-]|\.{3})[A-Za-z0-9._:-]*"
"""The form of a name, whose length is bounded besides. Names stand in paths, where `.` and `..` are
steps and no names.
"""
NAME = re.compile(rf"(?=.{{1,255}}\Z){NAME_PATTERN}\Z")
NAME_RULE = "must be 1 to 255 characters out of A-Z a-z 0-9 . _ - :, and neither . nor .."


class SplitState(str, Enum):
    """The state of a split in its reader's report. Idle and finished splits do not hold their
    reader back; all others do.
    """

    ACTIVE = "active"
    PAUSED = "paused"
    CAUGHT_UP = "caught_up"
    IDLE = "idle"
    FINISHED = "finished"


class OnLostReader(str, Enum):
    """How a reader counts once its lease has ended: not at all, or as before, so that others
    wait.
    """

    EXCLUDE = "exclude"
    HOLD = "hold"


class OnMaxWait(str, Enum):
    """The effect of a wait that is longer than `max_wait_ms`: a warning, or the reader goes on."""

    ALARM = "alarm"
    PROCEED = "proceed"


class Mode(str, Enum):
    """Whether the ceiling is enforced, or only shown."""

    ENFORCE = "enforce"
    OBSERVE = "observe"


class CatchUp(str, Enum):
    """The rule of the ceiling: minimum + drift, or also as far as the next batch of each reader
    reaches.
    """

    JOINT = "joint"
    STRICT = "strict"


CONFIG_FLOORS: Mapping[str, int] = {"max_drift_ms": 0, "update_interval_ms": 10, "lease_ms": 100}
"""The least value of each number that a group's configuration always has; the greatest is
`watermark.MAX` for all.
"""

MAX_WAIT_FLOOR = 50
"""The least `max_wait_ms` of a group. Each end of a wait is a commit and a line in the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig:
    """A group's configuration. `max_wait_ms`: the longest wait of a reader for the others; None: no
    limit.

    Raises `InvalidValue` for a number below its floor, and for a source that is no valid name.
    """

    max_drift_ms: int = 300_000
    update_interval_ms: int = 1_000
    lease_ms: int = 30_000
    on_lost_reader: OnLostReader = OnLostReader.EXCLUDE
    mode: Mode = Mode.ENFORCE
    catch_up: CatchUp = CatchUp.JOINT
    expected_sources: tuple[str, ...] = ()
    max_wait_ms: int | None = None
    on_max_wait: OnMaxWait = OnMaxWait.ALARM

    def __post_init__(self) -> None:
        for key, floor in CONFIG_FLOORS.items():
            value = getattr(self, key)
            if not floor <= value <= MAX:
                raise InvalidValue(key, f"must be {floor} or more, not {value}")
        if self.max_wait_ms is not None and not MAX_WAIT_FLOOR <= self.max_wait_ms <= MAX:
            raise InvalidValue("max_wait_ms", f"must be {MAX_WAIT_FLOOR} or more, or none, not {self.max_wait_ms}")
        for source in self.expected_sources:
            if not NAME.match(source):
                raise InvalidValue("expected_sources", f"{source!r} {NAME_RULE}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitReport:
    """One split in a report. `position`: the next offset to read; `end`: the log's end; `rows`: the
    number of rows read so far.
    """

    watermark: int
    state: SplitState = SplitState.ACTIVE
    position: int | None = None
    end: int | None = None
    rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderFacts:
    """The facts of one reader. Counts are those of the query's present run.

    `late_rows`: rows below Spark's watermark when they were read. `rows_saved`: the estimate of the
    whole query, so only its first reader has it. `retained_until`: when (wall clock, ms) retention
    deletes the first unread record of a paused split, at the earliest; `retention_split`: that
    split. `producer_lag_ms`: the largest lag of a producer behind the clock. `event_time_rate`: ms
    of event time by which the reader's watermark has risen in a second of the clock.
    """

    late_rows: int | None = None
    rows_saved: int | None = None
    retained_until: int | None = None
    retention_split: str | None = None
    producer_lag_ms: int | None = None
    event_time_rate: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedWatermarkEvent:
    """A reader's combined watermark. An idle or finished reader limits no other reader, whatever
    its `watermark`.

    `reach`: the event time that the reader's next batch would reach without the group's ceiling.
    `park_ms`: the reader will be silent for so long, and still counts. A scheduled run has ended,
    and the next one goes on from there. `facts`: for people; None: as this epoch's last report had
    them.
    """

    subtask: int
    epoch: int
    watermark: int
    idle: bool = False
    finished: bool = False
    reach: int | None = None
    batch_id: int | None = None
    park_ms: int | None = None
    facts: ReaderFacts | None = None
    splits: Mapping[str, SplitReport] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitProgress:
    """How far one task has got in one split, in the middle of a batch."""

    watermark: int
    position: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressEvent:
    """A report of an executor's task in the middle of a batch. `(batch_id, attempt)` orders the
    reports about one split.
    """

    subtask: int
    epoch: int
    batch_id: int
    attempt: int
    splits: Mapping[str, SplitProgress]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderRegistrationEvent:
    """A reader opens a new epoch of itself and fences every older one.

    `config` and `ceiling` are the last ones that the reader received, if any. After a loss of the
    store the group is built again from them. `configured_at`: when an operator set `config`, as
    inspection shows it; None where no operator has.
    """

    subtask: int
    owner: str = ""
    takeover: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)
    config: GroupConfig | None = None
    ceiling: int | None = None
    configured_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """One reader that determines the group's minimum, and its lowest split if it reports splits."""

    source: str
    subtask: int
    watermark: int
    split: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePause:
    """An operator has paused a source: its readers read nothing new until an operator resumes it.

    `at`: since when, ms. `by`: the name of the operator's token; None without tokens. `reason`: the
    operator's words, or empty.
    """

    source: str
    at: int
    by: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkAlignmentEvent:
    """The coordinator's broadcast. In mode `observe` `would_be` is the ceiling that `enforce` would
    set. `paused_sources`: those that an operator has paused, by name.

    `config_version` rises with each change of the group's configuration; None from a coordinator
    that does not send it.
    """

    group: str
    revision: int
    group_watermark: int
    max_desired_watermark: int
    blocked_by: tuple[Blocker, ...] = ()
    would_be: int | None = None
    config_version: int | None = None
    paused_sources: tuple[SourcePause, ...] = ()

    def pause_of(self, source: str) -> SourcePause | None:
        """Return the operator's pause of a source; None where the source is not paused."""
        return next((pause for pause in self.paused_sources if pause.source == source), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationAnswer:
    """The answer to a `ReaderRegistrationEvent`: the reader's new epoch, its lease, and the
    interval of reports.
    """

    subtask: int
    epoch: int
    lease_ms: int
    update_interval_ms: int
    alignment: WatermarkAlignmentEvent
