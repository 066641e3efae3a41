"""Rules of a store that goes back in time, or whose clock jumps."""

from functools import partial

from rule_breaks.breaking import Break

_Break = partial(Break, package="lockgate_coordinator")

LOST = ("test_histories.py",)
UPGRADES = ("test_newer_formats.py",)
CLOCK_JUMPS = ("test_clock_jumps.py", "test_clock_jumps_model.py")

LEAPING: tuple[Break, ...] = (
    Break(
        "no time is moved beyond the moment at which a jump was noticed",
        "group/clock_jumps.py",
        "min(time_ms + jump.by_ms, jump.noticed_ms)",
        "time_ms + jump.by_ms",
        CLOCK_JUMPS,
    ),
    Break(
        "a clock jump is taken for the most that it can be",
        "group/clock_jumps.py",
        "jumped = ceil(high - was_low)",
        "jumped = int(low - was_high)",
        CLOCK_JUMPS,
    ),
    Break(
        "an answer that takes long does not widen what is known of the store's clock",
        "group/clock_jumps.py",
        "                low, high = max(low, was_low), min(high, was_high)\n",
        "                pass\n",
        CLOCK_JUMPS,
    ),
    Break(
        "the grace of a new group goes on over a clock jump",
        "group/leases.py",
        "grace_until=move(group.grace_until - lease_ms) + lease_ms,",
        "grace_until=group.grace_until,",
        CLOCK_JUMPS,
    ),
    Break(
        "a jump of the store's clock ends no lease, whoever looks first",
        "group/turn.py",
        "        group = after_jumps(group, now.jumps)\n",
        "        pass\n",
        ("test_leaping_clock.py",),
    ),
    Break(
        "a query does not go by higher news that was made without it",
        "group/ceiling.py",
        "now - self.answered_at < lease_s and event.group_watermark <= self._lowest",
        "now - self.answered_at < lease_s",
        ("test_ceiling.py",),
        "lockgate_http",
    ),
    _Break(
        "the clock of a memory store does not jump",
        "store/memory.py",
        "return lambda: (began_ns + time.monotonic_ns()) // 1_000_000",
        "return lambda: time.time_ns() // 1_000_000",
        ("test_leaping_clock.py",),
    ),
)

RELEASES: tuple[Break, ...] = (
    _Break(
        "a version that a hand has changed belongs to no series",
        "store/scripts/since_version.lua",
        "if string.sub(mark, 1, #version + 1) == version .. '/' then",
        "if mark ~= '' then",
        ("test_expiring.py", *UPGRADES),
    ),
    _Break(
        "a group of a newer format is not touched",
        "store/records.py",
        "if written > FORMAT:",
        "if False:",
        UPGRADES,
    ),
)

HISTORIES: tuple[Break, ...] = (
    *RELEASES,
    *LEAPING,
    _Break(
        "Redis: a commit is made upon the state that it was computed from, whatever the version",
        "store/scripts/commit.lua",
        "if mark ~= ARGV[1] or (",
        "if parts(mark) ~= parts(ARGV[1]) or (",
        LOST,
    ),
    _Break(
        "Redis: changes are merged into a state that they were made from alone",
        "store/scripts/since_version.lua",
        "or not follows(mark, known)",
        "or tonumber(version) >= tonumber((parts(mark)))",
        LOST,
    ),
    _Break(
        "Redis: what a series has made after its last version here is another history",
        "store/scripts/since_version.lua",
        "redis.call('ZRANGEBYSCORE', KEYS[4], known_version, '+inf')",
        "redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', '+inf')",
        LOST,
    ),
    _Break(
        "no series goes on after a commit whose outcome is not known",
        "store/redis.py",
        "            seen.continues = False\n",
        "",
        LOST,
    ),
    _Break(
        "a late answer does not let a series go on",
        "store/redis.py",
        "        if seen is not None and (seen.version, seen.series) == (version, series):\n",
        "        if isinstance(base, CachedGroup) and base.version == version:\n"
        "            cached = CachedGroup(version, group, ahead_ms, series, base.continues)\n"
        "            self._groups.keep(name, cached)\n"
        "        elif seen is not None and (seen.version, seen.series) == (version, series):\n",
        LOST,
    ),
    Break(
        "watchers hear what is true after a history is lost",
        "group/turn.py",
        "return not_below(group, announced, self.now.ms), _DONE",
        "return group, _DONE",
        LOST,
    ),
)
