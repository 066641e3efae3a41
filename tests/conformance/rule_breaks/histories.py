"""Rules of a store that goes back in time, or whose clock leaps."""

from functools import partial

from rule_breaks.breaking import Break

_Break = partial(Break, package="lockgate_coordinator")

LOST = ("test_histories.py",)

HISTORIES: tuple[Break, ...] = (
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
        "<= tonumber(version) and follows(mark, known) then",
        "<= tonumber(version) and tonumber(version) < tonumber((parts(mark))) then",
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
        "watchers hear what is true after a history is lost",
        "service/coordinator.py",
        "return None if group is None else not_below(group, announced, loaded.now_ms)",
        "return group",
        LOST,
    ),
)
