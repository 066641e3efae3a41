"""The clock of leases: seconds that go on while the process is stopped, and while the machine
sleeps.

A lease is counted in this clock, since a process that was stopped must find it at its end. Only
differences have a meaning, and only within one machine.
"""

import time
from functools import partial

# Linux's monotonic clock stands still while the machine sleeps; its boot time does not.
now_s = partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
