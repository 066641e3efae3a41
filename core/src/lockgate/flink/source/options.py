"""The settings of a source operator, and its modes. `operator` draws the modes."""

from dataclasses import dataclass
from enum import Enum


class OperatingMode(Enum):
    """The modes of a source operator. The mode decides what `emit_next` does."""

    OUTPUT_NOT_INITIALIZED = "OUTPUT_NOT_INITIALIZED"
    READING = "READING"
    WAITING_FOR_ALIGNMENT = "WAITING_FOR_ALIGNMENT"
    SOURCE_DRAINED = "SOURCE_DRAINED"
    SOURCE_STOPPED = "SOURCE_STOPPED"
    DATA_FINISHED = "DATA_FINISHED"


RUNNING = (OperatingMode.OUTPUT_NOT_INITIALIZED, OperatingMode.READING, OperatingMode.WAITING_FOR_ALIGNMENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """Flink's settings that matter here, with Flink's defaults.

    `buffer_size`: samples per split and for the source. `allow_unaligned_splits`: a reader that
    cannot pause splits is no error.
    """

    auto_watermark_interval_ms: int = 200
    buffer_size: int = 3
    allow_unaligned_splits: bool = False
    subtask: int = 0
    parallelism: int = 1
    host: str = "localhost"
