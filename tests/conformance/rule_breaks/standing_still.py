"""Rules of a process that stands still, and of work for thousands of readers."""

from functools import partial

from rule_breaks.breaking import Break

_Break = partial(Break, package="lockgate_coordinator")

STALLS = ("test_stalls.py",)
DETECTOR = ("test_stall_detector.py",)
PAUSES = ("test_long_work.py",)

STANDING_STILL: tuple[Break, ...] = (
    Break(
        "a lease is judged without the stalls of its process",
        "group/now.py",
        "ran_from, left = began, left - ran",
        "ran_from, left = began, left - (ran_from - began)",
        STALLS,
    ),
    Break(
        "a reader that registers after a stall keeps its report",
        "group/registering.py",
        "    if is_lost(old, group.config, now):",
        "    if is_lost(old, group.config, Now(now.ms)):",
        STALLS,
    ),
    Break(
        "the grace of a new group is judged without the stalls of its process",
        "group/leases.py",
        "return now.judged_ms(group.config.lease_ms) < group.grace_until",
        "return now.ms < group.grace_until",
        STALLS,
    ),
    Break(
        "a wait is judged without the stalls of its process",
        "group/long_waits.py",
        "judged_ms = now.judged_ms(longest_ms)",
        "judged_ms = now.ms",
        STALLS,
    ),
    Break(
        "a report looks at no expected source once all have reported",
        "group/group.py",
        "if len(seen) >= len(expected):",
        "if len(seen) > len(expected):",
        ("test_many_expected.py",),
    ),
    _Break(
        "a group is judged without the stalls of its process",
        "service/commit_queue.py",
        "now = self._stalls.now(loaded.now_ms, loaded.jumps)",
        "now = type(self._stalls.now(0))(loaded.now_ms, (), loaded.jumps)",
        DETECTOR,
    ),
    _Break(
        "a process that judges before its late beat has stalled until now",
        "service/stalls.py",
        "        elif now - self._beat_at > STALLED_S:\n",
        "        elif False:\n",
        DETECTOR,
    ),
    _Break(
        "a stall lasts until the process has read what waited",
        "service/stalls.py",
        "        ended += min(ended - began, AFTERWARDS_S)\n",
        "",
        DETECTOR,
    ),
    _Break(
        "others are served in the pauses of long work",
        "pauses.py",
        "            return result\n        await asyncio.sleep(0)\n",
        "            return result\n",
        PAUSES,
    ),
)
