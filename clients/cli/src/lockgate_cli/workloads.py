"""Workloads for a simulation, from a file in YAML or from the report of a run in observe mode.
Reading an invalid file raises `Fault`, whose text names the place of the error.
"""

from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

import msgspec
import yaml
from typer import BadParameter

from lockgate.errors import InvalidValue
from lockgate.simulate.workload import QueryLoad, SplitLoad, Stretch, Workload
from lockgate_cli.client import Fault
from lockgate_cli.options import milliseconds

OBSERVED = "lockgate-observed"


class PartitionText(msgspec.Struct, forbid_unknown_fields=True, rename={"from_": "from"}):
    """Equal partitions of a query in a workload file.

    Attributes:
        records: The number of records in each partition. Their event times are spread evenly from
            `from` to `to`.
        count: The number of partitions.
        lag: How long after its event time a record is appended. Without it, all records are in the
            log at the start.
    """

    records: int
    from_: datetime
    to: datetime
    count: int = 1
    lag: str | None = None


class QueryText(msgspec.Struct, forbid_unknown_fields=True):
    """A query in a workload file. The fields are named as in `Alignment` and in Spark. Fields that
    are strings hold durations, such as `10min`.
    """

    delay: str
    partitions: list[PartitionText]
    records_per_second: float = 100_000.0
    max_offsets_per_trigger: int | None = None
    batch_overhead: str = "1s"
    trigger: str = "0s"
    window: str = "0s"
    idle_timeout: str = "1min"
    max_out_of_orderness: str = "0s"


class WorkloadText(msgspec.Struct, forbid_unknown_fields=True):
    """A workload file: the queries of one group. All of them begin at the time `start`. If `start`
    is None, the time is derived from the partitions (`Workload.begin`).
    """

    queries: dict[str, QueryText]
    catch_up: Literal["joint", "strict"] = "joint"
    start: datetime | None = None


def read_workload(path: Path) -> Workload:
    """Return the workload in a YAML or JSON file. Raises `Fault` if the file is invalid."""
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
        text = msgspec.convert(found, WorkloadText)
        return Workload(
            queries=tuple(_query(name, query) for name, query in text.queries.items()),
            joint=text.catch_up == "joint",
            start_ms=None if text.start is None else _ms(text.start),
        )
    except yaml.YAMLError as error:
        raise Fault(f"{path} is no YAML: {error}") from error
    except (msgspec.ValidationError, InvalidValue, BadParameter) as error:
        raise Fault(f"{path} describes no workload: {error}") from error


def _query(name: str, text: QueryText) -> QueryLoad:
    return QueryLoad(
        name=name,
        splits=tuple(
            SplitLoad(
                f"{number}-{copy}",
                (Stretch(split.records, _ms(split.from_), _ms(split.to)),) if split.records else (),
                None if split.lag is None else milliseconds(split.lag),
            )
            for number, split in enumerate(text.partitions)
            for copy in range(split.count)
        ),
        records_per_second=text.records_per_second,
        delay_ms=milliseconds(text.delay),
        budget=text.max_offsets_per_trigger,
        overhead_ms=milliseconds(text.batch_overhead),
        trigger_ms=milliseconds(text.trigger),
        window_ms=milliseconds(text.window),
        idle_timeout_ms=milliseconds(text.idle_timeout),
        disorder_ms=milliseconds(text.max_out_of_orderness),
    )


class ObservedPartition(msgspec.Struct):
    """A partition in the report of a run in observe mode."""

    source: int
    partition: str
    offsets: int
    first: datetime | None = None
    last: datetime | None = None


class ObservedSource(msgspec.Struct):
    """A source in the report of a run in observe mode."""

    source: int
    max_offsets_per_trigger: int | None = None
    largest_batch: int = 0


class ObservedRun(msgspec.Struct):
    """The part of the report of a run in observe mode that a simulation needs."""

    schema: str
    query: dict[str, str | None]
    watermark_delay_ms: int | None
    out_of_orderness_ms: int
    batches: dict[str, int]
    busy_ms: int
    sources: list[ObservedSource]
    partitions: list[ObservedPartition]


def read_observed(path: Path, window_ms: int) -> Workload:
    """Return the workload of a run in observe mode, from the JSON report of the run.

    `window_ms` is the length of the query's windows, which is not in the report. Raises `Fault` if
    the file is not such a report, or if it contains nothing to simulate.
    """
    try:
        run = msgspec.json.decode(path.read_bytes(), type=ObservedRun)
    except msgspec.DecodeError as error:
        raise Fault(f"{path} is not a report of a run in observe mode, or is from an older release: {error}") from error
    if run.schema != OBSERVED:
        raise Fault(f"{path} is not a report of a run in observe mode: its schema is {run.schema!r}, not {OBSERVED!r}")
    if run.watermark_delay_ms is None:
        raise Fault(f"{path}: the query has no watermark, so no row is late, and there is nothing to simulate")
    splits = tuple(
        SplitLoad(f"{each.source}/{each.partition}", (Stretch(each.offsets, _ms(each.first), _ms(each.last) + 1),))
        for each in run.partitions
        if each.offsets and each.first is not None and each.last is not None
    )
    rows, batches = sum(split.records for split in splits), max(1, run.batches["read"])
    if not rows:
        raise Fault(f"{path}: the run has read no record whose event time it knows")
    budgets = [each.max_offsets_per_trigger or each.largest_batch for each in run.sources]
    return Workload(
        queries=(
            QueryLoad(
                name=run.query.get("name") or "query",
                splits=splits,
                # The report has the time of all batches together, and no part of it as fixed.
                records_per_second=rows / max(0.001, run.busy_ms / 1000),
                overhead_ms=0,
                delay_ms=run.watermark_delay_ms,
                budget=sum(budgets) if all(budgets) else max(1, rows // batches),
                window_ms=window_ms,
                disorder_ms=run.out_of_orderness_ms,
            ),
        )
    )


def _ms(at: datetime) -> int:
    """Return a time in ms since the Unix epoch. A time without a zone is in UTC."""
    return round((at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp() * 1000)
