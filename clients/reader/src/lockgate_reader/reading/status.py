"""Computes the results of `AlignedConsumer.status` and `AlignedConsumer.metrics`."""

from dataclasses import dataclass
from enum import Enum

from lockgate.watermark import MAX, MIN, instant
from lockgate_reader.clock import monotonic_ms
from lockgate_reader.place import ReaderSplit
from lockgate_reader.reading.reader import RunningReader


class ReaderMode(str, Enum):
    """The state of a consumer. It waits if splits are paused, and no other can be read."""

    NOT_INITIALIZED = "not initialised"
    READING = "reading"
    WAITING_FOR_ALIGNMENT = "waiting for alignment"
    DRAINED = "drained"
    STOPPED = "stopped"
    FINISHED = "finished"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class ReaderStatus:
    """State of a consumer at one moment.

    Attributes:
        mode: The consumer's state.
        sentence: The state in words.
        waits_for: What the consumer waits for: a partition, readers or the coordinator; or "".
        watermark: Watermark (ms) of the records returned so far.
        read_limit: Event time (ms) above which no record is returned.
        splits: The splits that the consumer owns.

    """

    mode: ReaderMode
    sentence: str
    waits_for: str = ""
    watermark: int = MIN
    read_limit: int = MIN
    splits: tuple[ReaderSplit, ...] = ()

    def __str__(self) -> str:
        return self.sentence


def status_of(reader: RunningReader | None, *, closed: bool) -> ReaderStatus:
    if reader is None:
        mode = ReaderMode.CLOSED if closed else ReaderMode.NOT_INITIALIZED
        return ReaderStatus(mode, f"The consumer is {mode.value}.")
    splits, waits_for = tuple(reader.assignment.held()), ""
    if closed or reader.ended:
        ends = {None: ReaderMode.FINISHED, True: ReaderMode.DRAINED, False: ReaderMode.STOPPED}
        mode = ReaderMode.CLOSED if closed else ends[reader.stopped]
        sentence = f"The consumer is {mode.value}."
    else:
        waits_for = _waits_for(reader, splits)
        mode = ReaderMode.WAITING_FOR_ALIGNMENT if waits_for else ReaderMode.READING
        up_to = instant(reader.limit, "nothing yet", "the end of the data")
        paused = f"{sum(split.paused for split in splits)} of {len(splits)} partitions are paused"
        waits = f", and it waits for {waits_for}" if waits_for else ""
        sentence = f"The consumer reads up to {up_to}; {paused}{waits}."
    return ReaderStatus(mode, sentence, waits_for, reader.watermark, reader.limit, splits)


def _waits_for(reader: RunningReader, splits: tuple[ReaderSplit, ...]) -> str:
    """Return what the paused splits wait for; "" if no split is paused or another can be read."""
    now, opened = monotonic_ms(), list(reader.assignment.splits.values())
    at_end = {split.name for split in opened if split.silence(now)}
    going = any(not (each.paused or each.idle or each.split.split_id in at_end) for each in splits)
    if going or not any(split.paused for split in splits):
        return ""
    if reader.orders.waits_for and reader.orders.ceiling == reader.limit:
        return reader.orders.waits_for
    lowest = min((split for split in splits if not split.idle), key=lambda split: split.watermark)
    return f"the first record of {lowest.split.split_id}" if lowest.watermark == MIN else lowest.split.split_id


def metrics_of(reader: RunningReader | None) -> dict[str, float]:
    if reader is None:
        return {}
    splits = reader.assignment.held()
    found: dict[str, float] = {
        "records_total": reader.returned,
        "fetched_total": reader.assignment.fetched,
        "left_out_total": reader.assignment.left_out,
        "kept_records": sum(split.kept for split in list(reader.assignment.splits.values())),
        "partitions": len(splits),
        "paused_partitions": sum(split.paused for split in splits),
        "idle_partitions": sum(split.idle for split in splits),
        "waiting": float(bool(_waits_for(reader, tuple(splits)))),
    }
    times = {"watermark_ms": reader.watermark, "read_limit_ms": reader.limit}
    found.update({name: at for name, at in times.items() if at not in (MIN, MAX)})
    return found
