"""Rules of the coordinator: commit queue, leases and fencing as the service applies them, stores,
access, limits, announcer.
"""

from functools import partial

from rule_breaks.breaking import Break
from rule_breaks.histories import HISTORIES
from rule_breaks.limits import BROWSERS, LIMITS

_Break = partial(Break, package="lockgate_coordinator")
_Cli = partial(Break, package="lockgate_cli")

QUEUE = ("test_commit_queue.py",)
CONTRACT = ("test_contract.py",)
REDIS = ("test_redis.py",)
ANNOUNCER = ("test_announcer.py",)
PERSISTENCE = ("test_persistence.py",)
RESERVATIONS = ("test_reservations.py",)

COMMITS: tuple[Break, ...] = (
    _Break(
        "a text line of the log has durations for people",
        "telemetry/logs.py",
        "        return spoken(value)\n",
        "        return value\n",
        ("test_log_lines.py",),
    ),
    _Cli(
        "a strict group says that those above the ceiling wait",
        "words.py",
        'if config["catch_up"] == "strict":',
        'if config["catch_up"] == "joint":',
        ("test_words.py",),
    ),
    _Break(
        "a command is answered only after its commit is stored",
        "service/commit_queue.py",
        "            if instead is None:\n                attempts.got_through()\n",
        "            if True:\n",
        ("test_contract.py", "test_commit_queue.py", "test_races.py"),
    ),
    _Break(
        "an unchanged group is answered only after the store has confirmed it",
        "service/commit_queue.py",
        "return None if loaded.confirmed else await self._store.load(loaded.name)",
        "return None",
        ("test_commit_queue.py", "test_races.py", "test_fencing.py"),
    ),
    Break(
        "a refused command takes nothing from the others of its commit",
        "group/turn.py",
        "                outcome = refusal\n",
        "                outcome, group = refusal, before\n",
        ("test_turn.py",),
    ),
    _Break(
        "a fault of a command reaches its caller",
        "service/commit_queue.py",
        "                    future.set_exception(error)\n            return",
        "                    future.set_exception(RuntimeError(str(error)))\n            return",
        QUEUE,
    ),
    Break(
        "each caller gets the refusals of its own reports",
        "group/turn.py",
        "number, index = places[place]",
        "number, index = 0, places[place][1]",
        ("test_turn.py",),
    ),
    _Break(
        "a commit is announced before it is answered",
        "service/commit_queue.py",
        "                    await self._listeners.turned(done)\n",
        "                    pass\n",
        (*QUEUE, *ANNOUNCER),
    ),
    _Break(
        "commands that arrive together share one commit",
        "service/commit_queue.py",
        "fit = max(1, bisect_right(list(weights), COMMANDS_OF_A_TURN))",
        "fit = 1",
        QUEUE,
    ),
)

LEASES: tuple[Break, ...] = (
    _Break(
        "a reader is lost at the end of its lease although nobody sends a command",
        "service/announcer.py",
        "pauses = [] if deadline is None else [deadline - turn.now.ms]",
        "pauses = list[int]()",
        ANNOUNCER,
    ),
    Break(
        "an expired lease is found by whoever reads the group",
        "group/turn.py",
        "group, event = evaluate(group, now)",
        "group, event = evaluate(group, Now(group.heard_at or now.ms))",
        (*QUEUE, "test_outages.py"),
    ),
    _Break(
        "a lease runs by the store's clock, which a cached time may miss by little",
        "store/scripts/commit.lua",
        "(ARGV[2] ~= '' and math.abs(now - ARGV[2]) > tonumber(ARGV[3]))",
        "false",
        REDIS,
    ),
    _Break(
        "an operator's eviction needs no epoch, a reader's leave does",
        "api/readers.py",
        "        await coordinator.leave(group, source, subtask, epoch, act)",
        "        await coordinator.evict(group, source, subtask, act)",
        ("test_readers.py", "test_fencing.py"),
    ),
    Break(
        "an unknown group is created above the versions of its predecessor",
        "group/turn.py",
        "create(self.name, event.config or GroupConfig(), self.now.ms, floor=self.floor)",
        "create(self.name, event.config or GroupConfig(), self.now.ms)",
        ("test_successors.py",),
    ),
    Break(
        "a reader brings its configuration to a group that was lost",
        "group/turn.py",
        "create(self.name, event.config or GroupConfig(), self.now",
        "create(self.name, GroupConfig(), self.now",
        ("test_outages.py", "test_readers.py"),
    ),
)

STORES: tuple[Break, ...] = (
    _Break(
        "memory: one of two commits of one version wins",
        "store/memory.py",
        (
            "        if self._versions.get(loaded.name, 0) != loaded.version:\n"
            "            return self.cached(loaded.name)\n"
        ),
        "",
        CONTRACT,
    ),
    _Break(
        "memory: a delete of an older version changes nothing",
        "store/memory.py",
        "        if self._versions.get(loaded.name, 0) != loaded.version:\n            return False\n",
        "",
        CONTRACT,
    ),
    _Break(
        "Redis: one of two commits of one version wins",
        "store/scripts/commit.lua",
        "if mark ~= ARGV[1] or (",
        "if (",
        CONTRACT,
    ),
    _Break(
        "Redis: a delete of an older version changes nothing",
        "store/scripts/delete.lua",
        "if mark_now() ~= ARGV[1] then\n  return 0\nend\n",
        "",
        CONTRACT,
    ),
    _Break(
        "a version rises over a delete",
        "store/base.py",
        "return max(self.next_version, high_water)",
        "return 0",
        CONTRACT,
    ),
    _Break(
        "a successor begins above all that a deleted group gave out",
        "store/base.py",
        "return max(self.next_version, high_water)",
        "return self.next_version",
        CONTRACT,
    ),
    _Break(
        "Redis: a removed reader is gone in every process",
        "store/scripts/commit.lua",
        "  redis.call('ZADD', KEYS[3], new, field)\n",
        "",
        REDIS,
    ),
    _Break(
        "Redis: a cache older than the recorded removals is dropped",
        "store/scripts/commit.lua",
        "    redis.call('HSET', KEYS[1], 'since', expired)\n",
        "",
        REDIS,
    ),
    _Break(
        "Redis: a commit writes the changed readers alone",
        "store/redis.py",
        "group.readers.moved_since(before)",
        "group.readers.moved_since(Readers())",
        REDIS,
    ),
    _Break(
        "Redis: a deleted group expires",
        "store/scripts/delete.lua",
        "redis.call('PEXPIRE', KEYS[1], ARGV[3])\n",
        "",
        REDIS,
    ),
    _Break(
        "Redis: a group that is created again does not expire",
        "store/scripts/commit.lua",
        "  redis.call('PERSIST', KEYS[1])\n",
        "",
        REDIS,
    ),
    _Break(
        "connections to a lost master are left",
        "store/connections.py",
        "                await self._client.connection_pool.disconnect(inuse_connections=False)\n",
        "",
        ("test_cut_connections.py", "test_failover.py"),
    ),
)

ACCESS: tuple[Break, ...] = (
    _Break(
        "a request needs the role of its route",
        "access/guard.py",
        "if token.role < rule.role:",
        "if False:",
        ("test_guard.py",),
    ),
    _Break(
        "a token touches its own groups only",
        "access/tokens.py",
        "return self.groups is None or any(_covers(pattern, group) for pattern in self.groups)",
        "return True",
        ("test_tokens.py", "test_guard.py"),
    ),
    _Break(
        "a forced leave needs the role admin",
        "access/rules.py",
        'Rule(Role.REPORT, forced_by="force")',
        "Rule(Role.REPORT)",
        ("test_guard.py", "test_paths.py"),
    ),
    _Break(
        "a path without a rule needs the role admin",
        "access/rules.py",
        "_UNKNOWN: Final = Rule(Role.ADMIN, everything=True)",
        "_UNKNOWN: Final = Rule(Role.READ)",
        ("test_guard.py", "test_paths.py"),
    ),
    _Break(
        "all tokens are compared, in constant time",
        "access/keyring.py",
        "if hmac.compare_digest(token.digest, digest):",
        "if token.digest == digest:",
        ("test_keyring.py",),
    ),
    _Break(
        "wrong tokens are not remembered",
        "access/keyring.py",
        "        if found is not None:\n            if len(",
        "        if True:\n            if len(",
        ("test_keyring.py",),
    ),
    _Break(
        "no token asks more often than its rate",
        "access/rate.py",
        "self._buckets[key] = (level - 1, now)",
        "self._buckets[key] = (level, now)",
        ("test_rate.py",),
    ),
)

ANNOUNCING: tuple[Break, ...] = (
    _Break(
        "an older revision than the newest is not announced",
        "service/announcer.py",
        "if watch.newest is None or turn.event.revision > watch.newest.revision:",
        "if True:",
        ANNOUNCER,
    ),
    _Break(
        "a stream of an unchanged group gets heartbeats",
        "service/announcer.py",
        "                watch.beats += 1\n",
        "",
        ANNOUNCER,
    ),
    _Break(
        "a failed look does not end the follower",
        "service/announcer.py",
        "except Exception as failure:",
        "except StoreUnavailable as failure:",
        ANNOUNCER,
    ),
    _Break(
        "a follower that stops is forgotten",
        "service/announcer.py",
        "            watch.watchers.discard(woken)\n",
        "",
        ANNOUNCER,
    ),
    _Break(
        "a deleted group ends its streams",
        "service/announcer.py",
        "while not (self._closing or isinstance(watch.failure, Refused)):",
        "while not self._closing:",
        ANNOUNCER,
    ),
    _Break(
        "no more watchers wait than the limit",
        "service/announcer.py",
        "if self.watchers >= self._limit:",
        "if False:",
        ("test_streams.py", "test_long_poll.py"),
    ),
)

PERSISTING: tuple[Break, ...] = (
    _Break(
        "a commit that others keep overtaking reserves its group",
        "service/persistence.py",
        "if self._refusals >= REFUSALS:",
        "if False:",
        PERSISTENCE,
    ),
    _Break(
        "a process whose commits do not get through is not ready",
        "service/persistence.py",
        "            self._persistence.gave_up(now)\n",
        "",
        PERSISTENCE,
    ),
    _Break(
        "the others wait for the process that has reserved a group",
        "store/scripts/commit.lua",
        "if ends and holder ~= caller and now < tonumber(ends) then",
        "if false then",
        RESERVATIONS,
    ),
    _Break(
        "a reservation ends with the commit that it was for",
        "store/scripts/commit.lua",
        "  redis.call('HDEL', KEYS[1], 'reserved')\n",
        "",
        RESERVATIONS,
    ),
)

COORDINATOR: tuple[Break, ...] = (
    *COMMITS,
    *PERSISTING,
    *LEASES,
    *STORES,
    *HISTORIES,
    *ACCESS,
    *LIMITS,
    *BROWSERS,
    *ANNOUNCING,
)
