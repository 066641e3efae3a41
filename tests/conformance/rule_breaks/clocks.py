"""Rules of the clock that plans go by, of records ahead of it, and of what a run leaves behind its
fixed end.
"""

from functools import partial

from rule_breaks.breaking import Break

Client = partial(Break, package="lockgate_spark")

CLOCK = ("test_plan_clock.py",)
DRIVER = ("test_driver_clock.py",)

CLOCKS: tuple[Break, ...] = (
    Break(
        "a jump that is taken back within a minute moves no plan",
        "plan/clock.py",
        "elif ticks_ms - self._jump[1] >= STOOD_MS:",
        "elif ticks_ms - self._jump[1] >= STOOD_MS // 2:",
        CLOCK,
    ),
    Break(
        "records outweigh a jump that stands",
        "plan/clock.py",
        "if any(shown.at >= noticed for shown in self._shown.values()):",
        "if not self._shown:",
        CLOCK,
    ),
    Break(
        "what was shown moves with a jump that is taken over",
        "plan/clock.py",
        "            shown.low -= by\n",
        "",
        CLOCK,
    ),
    Break(
        "one producer on time is enough for the clock to be right",
        "plan/clock.py",
        "lowest = min(shown.lowest for shown in lately)",
        "lowest = max(shown.lowest for shown in lately)",
        CLOCK,
    ),
    Break(
        "records have to be ahead of the clock for a while",
        "plan/clock.py",
        "if not any(shown.before is not None for shown in lately):",
        "if not lately:",
        CLOCK,
    ),
    Break(
        "a producer that has been silent for an hour is no witness",
        "plan/clock.py",
        "if self._ticks - shown.at <= _REMEMBERED_MS]",
        "]",
        CLOCK,
    ),
    Client(
        "nothing is kept beside the checkpoint while the clocks differ",
        "planning/producers.py",
        "if self._kept is not None and self.learns and self._clock.steady:",
        "if self._kept is not None and self.learns:",
        DRIVER,
    ),
    Client(
        "rows behind a record ahead of the clock are counted once they are late",
        "planning/ahead.py",
        "self._stops[key].late += max(0, upto - begins[key])",
        "pass",
        DRIVER,
    ),
    Client(
        "records behind one that is ahead of the clock tell whether the clock is behind",
        "planning/ahead.py",
        "            return self._look_behind(unread, lasting, ends, now)\n",
        "",
        DRIVER,
    ),
    Client(
        "what is open behind a fixed end bounds the run",
        "planning/producers.py",
        "until = MIN if key in self._cut_off else at",
        "until = at",
        ("test_fixed_ends.py",),
    ),
    Client(
        "what was hidden behind a fixed end teaches no lag",
        "planning/producers.py",
        "                lag.forget_end()\n",
        "",
        ("test_fixed_ends.py",),
    ),
    Client(
        "what is let go is counted by source and split",
        "planning/retention.py",
        "called = set(names(kept, plan.splits).values())",
        "called = {split for _, split in kept}",
        ("test_equal_names.py",),
    ),
)
