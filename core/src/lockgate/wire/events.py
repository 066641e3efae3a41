"""The wire events: the messages between readers and the coordinator.

They follow Flink's operator events between `SourceOperator` and `SourceCoordinator`, which have the
same names. The events here also carry numbers that show an operator which reader waits for which.
They carry an epoch, because over HTTP only that distinguishes a reader from its predecessor.

Each class is the definition of its JSON: `codec` decodes, checks and encodes it by the types of its
fields. `lockgate.group` contains the rules. Times are milliseconds since the Unix epoch,
`watermark.MIN` to `watermark.MAX`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, ClassVar

from lockgate.wire.codec import check
from lockgate.wire.fields import Count, Integer, Meta, Name, Positive, Time, at_least

BATCH_LIMIT = 10_000
"""The maximum number of reports in a batch."""

REASON_LIMIT = 500
"""The maximum length of an operator's reason, which is part of each event of the group."""


class SplitState(str, Enum):
    """The state of a split in a report. Idle and finished splits do not limit the group."""

    ACTIVE = "active"
    PAUSED = "paused"
    CAUGHT_UP = "caught_up"
    IDLE = "idle"
    FINISHED = "finished"


class OnLostReader(str, Enum):
    """The effect of a lost reader on its group: `EXCLUDE` ignores it, `HOLD` waits for it."""

    EXCLUDE = "exclude"
    HOLD = "hold"


class OnMaxWait(str, Enum):
    """The effect of a wait above `max_wait_ms`.

    With `ALARM` the wait is logged and counted. With `PROCEED` the waiting reader also goes on.
    """

    ALARM = "alarm"
    PROCEED = "proceed"


class Mode(str, Enum):
    """The effect of a group's ceiling: `ENFORCE` limits its readers, `OBSERVE` only shows it."""

    ENFORCE = "enforce"
    OBSERVE = "observe"


class CatchUp(str, Enum):
    """The computation of a group's ceiling.

    `STRICT` is the group's watermark plus `max_drift`. `JOINT` is higher if the next batches of all
    readers can reach a higher event time.
    """

    JOINT = "joint"
    STRICT = "strict"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig:
    """A group's configuration. If `max_wait_ms` is None, waits are not limited.

    Raises `InvalidValue` for a number below its minimum and for an invalid source name. In JSON an
    unknown field is an error, so that a misspelt option is not ignored.
    """

    CLOSED: ClassVar[bool] = True

    max_drift_ms: Count = 300_000
    update_interval_ms: Annotated[int, at_least(10)] = 1_000
    lease_ms: Annotated[int, at_least(100)] = 30_000
    on_lost_reader: OnLostReader = OnLostReader.EXCLUDE
    mode: Mode = Mode.ENFORCE
    catch_up: CatchUp = CatchUp.JOINT
    expected_sources: tuple[Name, ...] = ()
    # each end of a wait is a commit and a line in the log
    max_wait_ms: Annotated[int, at_least(50)] | None = None
    on_max_wait: OnMaxWait = OnMaxWait.ALARM

    def __post_init__(self) -> None:
        check(self)
        once = tuple(dict.fromkeys(self.expected_sources))
        if once != self.expected_sources:
            object.__setattr__(self, "expected_sources", once)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitReport:
    """One split in a report.

    `position` is the next offset to read, `end` the end of its log, and `rows` the number of rows
    read.
    """

    watermark: Time
    state: SplitState = SplitState.ACTIVE
    position: Integer | None = None
    end: Integer | None = None
    rows: Count | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderFacts:
    """Figures about one reader, for operators. Rows are counted from the start of the query's run.

    Attributes:
        late_rows: The number of rows that Spark has dropped as late.
        rows_saved: An estimate of the rows that alignment has saved in the whole query. Only the
            query's first reader reports it.
        retained_until: The earliest time (ms) at which retention deletes an unread record of a
            paused split.
        retention_split: The split with that record.
        producer_lag_ms: The largest lag of a producer behind the clock.
        event_time_rate: The rise of the reader's watermark in ms per second.
    """

    late_rows: Count | None = None
    rows_saved: Count | None = None
    retained_until: Annotated[int, at_least(0, "wall-clock time, ms since the Unix epoch")] | None = None
    retention_split: Name | None = None
    producer_lag_ms: Count | None = None
    event_time_rate: Annotated[int, at_least(0, "ms of event time per second of wall-clock time")] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedWatermarkEvent:
    """A reader's report of its watermark, which combines those of its splits.

    Attributes:
        idle: If true, no other reader waits for this one.
        finished: If true, no other reader waits for this one, and it needs no lease.
        reach: The event time (ms) that its next batch would reach without the group's ceiling.
        park_ms: The time for which the reader still counts without further reports, because its
            next scheduled run will continue from this watermark.
        facts: Figures for operators, which do not affect the alignment. None keeps the previous
            ones.
        splits: The reader's splits, by name. An empty map keeps those of the last report.
    """

    subtask: Count
    epoch: Positive
    watermark: Time
    idle: bool = False
    finished: bool = False
    reach: Time | None = None
    batch_id: Count | None = None
    park_ms: Positive | None = None
    facts: ReaderFacts | None = None
    splits: Mapping[Name, SplitReport] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedReport(ReportedWatermarkEvent):
    """A report in a batch. It also names its source."""

    source: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportBatch:
    """One batch of reports. The coordinator accepts or refuses each report on its own."""

    reports: Annotated[tuple[SourcedReport, ...], Meta(max_length=BATCH_LIMIT)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitProgress:
    """The progress of one task in one split. `position` and `rows` are as in `SplitReport`."""

    watermark: Time
    position: Count
    rows: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressEvent:
    """A report of an executor's task during a batch. `(batch_id, attempt)` orders such reports."""

    subtask: Count
    epoch: Positive
    batch_id: Count
    attempt: Count
    splits: Mapping[Name, SplitProgress]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderRegistrationEvent:
    """The registration of a reader, which opens a new epoch and fences every older one.

    If the store has lost its data, the group is restored from `config` and `ceiling`.

    Attributes:
        owner: The name of the owner, such as a query's id.
        takeover: Whether the registration counts even while another owner's lease runs.
        config: The configuration that the reader received last, or its own for a new group.
        ceiling: The ceiling (ms) that the reader received last, or None.
        configured_at: The time (ms) at which an operator set `config`, or None.
    """

    subtask: Count
    owner: str = ""
    takeover: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)
    config: GroupConfig | None = None
    ceiling: Time | None = None
    configured_at: Positive | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """A reader with the group's lowest watermark.

    `split` is the reader's slowest split, or None if it reports no splits. An expected source that
    has not reported is listed as its reader 0, with MIN.
    """

    source: Name
    subtask: Count
    watermark: Time
    split: Name | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePause:
    """An operator's pause of a source: its readers read nothing new until an operator resumes it.

    It began at `at` (ms). `by` is the name of the operator's token, or None if there are no tokens.
    """

    source: Name
    at: Time
    by: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseRequest:
    CLOSED: ClassVar[bool] = True

    reason: Annotated[str, Meta(max_length=REASON_LIMIT)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkAlignmentEvent:
    """The coordinator's announcement to all readers of a group.

    Attributes:
        revision: Later announcements have higher revisions.
        group_watermark: The group's watermark (ms).
        max_desired_watermark: The ceiling (ms).
        blocked_by: Readers for which the group waits, but not all if there are many.
        would_be: In mode `observe`, the ceiling (ms) that `enforce` would set.
        config_version: It rises with each change of the configuration. None if it is not known.
        paused_sources: The operators' pauses, by source name.
    """

    group: Name
    revision: Count
    group_watermark: Time
    max_desired_watermark: Time
    blocked_by: tuple[Blocker, ...] = ()
    would_be: Time | None = None
    config_version: Count | None = None
    paused_sources: tuple[SourcePause, ...] = ()

    def pause_of(self, source: str) -> SourcePause | None:
        """Return the operator's pause of a source, or None if it is not paused."""
        return next((pause for pause in self.paused_sources if pause.source == source), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationAnswer:
    """The answer to a `ReaderRegistrationEvent`, with the reader's new epoch."""

    subtask: Count
    epoch: Positive
    lease_ms: Positive
    update_interval_ms: Positive
    alignment: WatermarkAlignmentEvent
