"""The clocks that the reader uses. `now_s`, which measures leases, keeps running while the process
is suspended and, on Linux, while the machine sleeps.
"""

import time
from functools import partial

now_s = partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic

relative_nanos = time.monotonic_ns  # watermark generators use this module as their clock


def monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000
