"""Chooses which splits of a source to pause (Flink's `SourceOperator` and `WatermarkSampler`).

A split is ahead when its watermark is above the maximum that the coordinator announced. But a
single jump of the watermark must not pause the split at once. So the watermark is sampled at each
alignment interval. The last `buffer_size` samples are kept, all MIN at first, and the *oldest* one
counts. With a `buffer_size` of 0, the latest watermark counts. The rules:

1. A split is paused when its oldest sample is above the maximum, but not if it is equal. It is
   resumed when its oldest sample is no longer above the maximum.
2. An idle split is neither paused nor resumed. When it becomes active again, it may be paused at
   once. It is resumed at the next check at the earliest.
3. The reader receives all pauses and resumptions of a check in one call.

One deviation from Flink: all state of a finished split is dropped. Flink drops its samples, but
still records it as paused. If the same split is added again later, Flink never pauses it, and the
first attempt to resume it fails the task.

The operator asks for a `PauseOrResume`, carries it out, and only then calls `apply`.
"""

from collections import deque
from dataclasses import dataclass

from lockgate.errors import InvalidValue
from lockgate.watermark import MIN


class WatermarkSampler:
    """The latest watermark (ms) and the last `buffer_size` samples of it, all MIN at first."""

    __slots__ = ("_samples", "latest")

    def __init__(self, buffer_size: int) -> None:
        self.latest = MIN
        self._samples = deque([MIN] * buffer_size, maxlen=buffer_size)

    @property
    def oldest(self) -> int:
        """The oldest sample (ms), or the latest watermark if `buffer_size` is 0."""
        return self._samples[0] if self._samples else self.latest

    def sample(self) -> None:
        """Add the latest watermark as a sample, and drop the oldest sample."""
        self._samples.append(self.latest)


@dataclass(frozen=True, slots=True)
class PauseOrResume:
    """The sorted names of the splits to pause and to resume. It is false if both are empty."""

    pause: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.pause or self.resume)


class SplitAlignment:
    """The alignment state of each split: its samples, and whether it is paused and idle. Raises
    `InvalidValue` if `buffer_size` is negative.
    """

    def __init__(self, buffer_size: int) -> None:
        if buffer_size < 0:
            raise InvalidValue("buffer_size", f"must be 0 (the latest value counts) or more, not {buffer_size}")
        self._buffer_size = buffer_size
        self.samplers: dict[str, WatermarkSampler] = {}
        self.paused: set[str] = set()
        self.idle: set[str] = set()

    def add(self, split_id: str) -> None:
        """Add a split. If it exists already, its samples start again at MIN."""
        self.samplers[split_id] = WatermarkSampler(self._buffer_size)

    def finish(self, split_id: str) -> None:
        self.samplers.pop(split_id, None)
        self.paused.discard(split_id)
        self.idle.discard(split_id)

    def rose(self, split_id: str, watermark: int) -> None:
        if split_id in self.samplers:
            self.samplers[split_id].latest = watermark

    def set_idle(self, split_id: str, idle: bool) -> None:
        if idle:
            self.idle.add(split_id)
        else:
            self.idle.discard(split_id)

    def sample(self) -> None:
        for sampler in self.samplers.values():
            sampler.sample()

    def check(self, maximum: int) -> PauseOrResume:
        """Return the splits to pause and to resume (rules 1, 2) for an announced `maximum` (ms)."""
        ahead = {split_id for split_id, sampler in self.samplers.items() if sampler.oldest > maximum}
        awake = self.samplers.keys() - self.idle
        return PauseOrResume(
            pause=tuple(sorted(awake & (ahead - self.paused))),
            resume=tuple(sorted(awake & (self.paused - ahead))),
        )

    def check_pause_of(self, split_id: str, maximum: int) -> PauseOrResume:
        """Return a pause of this split if it is ahead of `maximum` (ms), awake and not paused."""
        sampler = self.samplers.get(split_id)
        ahead = sampler is not None and sampler.oldest > maximum
        return (
            PauseOrResume(pause=(split_id,)) if ahead and split_id not in self.paused | self.idle else PauseOrResume()
        )

    def apply(self, change: PauseOrResume) -> None:
        """Record that the reader has paused and resumed the splits of `change`."""
        self.paused.update(change.pause)
        self.paused.difference_update(change.resume)
