"""The clocks that the reader uses.

`now_s` measures leases, in seconds. It keeps running while the process is suspended and, on Linux,
while the machine sleeps. So a process that was suspended can notice that its lease has ended.
"""

import time
from functools import partial

# Linux's monotonic clock stands still while the machine sleeps; its boot time does not.
now_s = partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic

relative_nanos = time.monotonic_ns  # watermark generators use this module as their clock


def monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000
