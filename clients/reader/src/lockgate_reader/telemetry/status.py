"""`status` and `metrics`: what a consumer is doing right now, for people and for programs."""

from dataclasses import dataclass
from enum import Enum

from lockgate.flink.source.operator import OperatingMode
from lockgate.watermark import MAX, MIN, instant
from lockgate_reader.place import ReaderSplit
from lockgate_reader.reading.reading import RunningReader


class ReaderMode(str, Enum):
    """State of a consumer: a mode of Flink's source operator, or CLOSED."""

    NOT_INITIALIZED = "not initialised"
    READING = "reading"
    WAITING_FOR_ALIGNMENT = "waiting for alignment"
    DRAINED = "drained"
    STOPPED = "stopped"
    FINISHED = "finished"
    CLOSED = "closed"


_MODES = {
    OperatingMode.OUTPUT_NOT_INITIALIZED: ReaderMode.NOT_INITIALIZED,
    OperatingMode.READING: ReaderMode.READING,
    OperatingMode.WAITING_FOR_ALIGNMENT: ReaderMode.WAITING_FOR_ALIGNMENT,
    OperatingMode.SOURCE_DRAINED: ReaderMode.DRAINED,
    OperatingMode.SOURCE_STOPPED: ReaderMode.STOPPED,
    OperatingMode.DATA_FINISHED: ReaderMode.FINISHED,
}


@dataclass(frozen=True, slots=True)
class ReaderStatus:
    """State of a consumer at one moment.

    Attributes:
        mode: The consumer's state.
        sentence: The state in words.
        waits_for: What the consumer waits for: a partition, readers or the coordinator; empty if it
            does not wait.
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


def status_of(reading: RunningReader | None, *, closed: bool) -> ReaderStatus:
    """Return the status of a reader. `reading` is None before the consumer starts to read."""
    if reading is None:
        mode = ReaderMode.CLOSED if closed else ReaderMode.NOT_INITIALIZED
        return ReaderStatus(mode, f"The consumer is {mode.value}.")
    mode = ReaderMode.CLOSED if closed else _mode_of(reading)
    splits = tuple(reading.holding.held())
    waits_for = "" if closed or reading.ended else _waits_for(reading, splits)
    sentence = _sentence(mode, waits_for, splits, reading.ceiling)
    return ReaderStatus(mode, sentence, waits_for, reading.output.watermark, reading.ceiling, splits)


def _mode_of(reading: RunningReader) -> ReaderMode:
    """Return the operator's mode. It passes through DRAINED and STOPPED at once, so the reader
    keeps these itself.
    """
    if reading.stopped is not None:
        return ReaderMode.DRAINED if reading.stopped else ReaderMode.STOPPED
    return _MODES[reading.operator.mode]


def _sentence(mode: ReaderMode, waits_for: str, splits: tuple[ReaderSplit, ...], ceiling: int) -> str:
    if mode in (ReaderMode.READING, ReaderMode.WAITING_FOR_ALIGNMENT):
        paused = sum(split.paused for split in splits)
        said = f"The consumer reads up to {instant(ceiling, 'nothing yet', 'the end of the data')}"
        said += f"; {paused} of {len(splits)} partitions are paused"
        return f"{said}, and it waits for {waits_for}." if waits_for else f"{said}."
    return f"The consumer is {mode.value}."


def _waits_for(reading: RunningReader, splits: tuple[ReaderSplit, ...]) -> str:
    """Return what the paused splits wait for; "" if none is paused, or another one may go on."""
    going = [split for split in splits if not (split.paused or split.idle or reading.is_at_end(split))]
    if going or not any(split.paused for split in splits):
        return ""
    if reading.orders.waits_for and reading.orders.ceiling == reading.ceiling:
        return reading.orders.waits_for
    lowest = min((split for split in splits if not split.idle), key=lambda split: split.watermark)
    return f"the first record of {lowest.split.split_id}" if lowest.watermark == MIN else lowest.split.split_id


def metrics_of(reading: RunningReader | None) -> dict[str, float]:
    """Return the figures by name. Event times are in ms; those not known yet, or unbounded, are
    left out.
    """
    if reading is None:
        return {}
    splits = reading.holding.held()
    found: dict[str, float] = {
        "records_total": reading.handed_out,
        "fetched_total": reading.arrivals.fetched,
        "left_out_total": reading.arrivals.left_out,
        "kept_records": sum(split.kept for split in reading.reader.splits.values()),
        "partitions": len(splits),
        "paused_partitions": sum(split.paused for split in splits),
        "idle_partitions": sum(split.idle for split in splits),
        "waiting": float(bool(_waits_for(reading, tuple(splits)))),
    }
    times = {"watermark_ms": reading.output.watermark, "read_limit_ms": reading.ceiling}
    found.update({name: at for name, at in times.items() if at not in (MIN, MAX)})
    return found
