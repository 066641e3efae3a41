"""The clocks that the reader uses.

`now_s` measures leases. It keeps running while the process is stopped and while the machine sleeps,
so that a process that was stopped notices if its lease has ended. Only differences between its
values have a meaning, and only on one machine.
"""

import time
from functools import partial

# Linux's monotonic clock stands still while the machine sleeps; its boot time does not.
now_s = partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic


def monotonic_ms() -> int:
    """Return the machine's monotonic clock, in ms."""
    return time.monotonic_ns() // 1_000_000


def wall_clock_ms() -> int:
    """Return the wall clock, in ms since 1970."""
    return time.time_ns() // 1_000_000
