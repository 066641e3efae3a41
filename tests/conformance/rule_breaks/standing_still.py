"""Rules of a process that stands still, and of work for thousands of readers."""

from functools import partial

from rule_breaks.breaking import Break

_Break = partial(Break, package="lockgate_coordinator")

HEARING = ("test_hearing.py",)
PULSE = ("test_pulse.py",)
PAUSES = ("test_long_work.py",)

STANDING_STILL: tuple[Break, ...] = (
    Break(
        "a lease is judged by the time in which its process heard",
        "group/hearing.py",
        "heard_from, left = began, left - heard",
        "heard_from, left = began, left - (heard_from - began)",
        HEARING,
    ),
    Break(
        "a reader that registers after a deaf span keeps its report",
        "group/commands.py",
        "if is_lost(old, group.config, now_ms, hearing):",
        "if is_lost(old, group.config, now_ms):",
        HEARING,
    ),
    Break(
        "the grace of a new group is judged by the time in which its process heard",
        "group/leases.py",
        "return hearing.judged_ms(now_ms, group.config.lease_ms) < group.grace_until",
        "return now_ms < group.grace_until",
        HEARING,
    ),
    Break(
        "a wait is judged by the time in which its process heard",
        "group/long_waits.py",
        "judged_ms = hearing.judged_ms(now_ms, longest_ms)",
        "judged_ms = now_ms",
        HEARING,
    ),
    Break(
        "a report looks at no expected source once all have reported",
        "group/group.py",
        "if len(seen) >= len(expected):",
        "if len(seen) > len(expected):",
        ("test_many_expected.py",),
    ),
    _Break(
        "a group is judged by the hearing of its process",
        "service/commit_queue.py",
        "hearing = self._pulse.hearing(loaded.now_ms)",
        "hearing = ALWAYS",
        PULSE,
    ),
    _Break(
        "a process that judges before its late beat was deaf until now",
        "service/pulse.py",
        "        elif now - self._beat_at > DEAF_S:\n",
        "        elif False:\n",
        PULSE,
    ),
    _Break(
        "a process counts as deaf until it has read what waited",
        "service/pulse.py",
        "        ended += min(ended - began, AFTERWARDS_S)\n",
        "",
        PULSE,
    ),
    _Break(
        "others are served in the pauses of long work",
        "pauses.py",
        "            return result\n        await asyncio.sleep(0)\n",
        "            return result\n",
        PAUSES,
    ),
)
