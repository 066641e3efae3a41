"""Rules of a store that does not grow without bound: expiry, and groups that cannot be read."""

from functools import partial

from rule_breaks.breaking import Break

_Core = partial(Break, package="lockgate")
_Break = partial(Break, package="lockgate_coordinator")

RULES = ("test_expiry.py",)
EXPIRING = ("test_expiring.py",)
READING = ("test_reading.py",)
UNREADABLE = ("test_unreadable.py",)

GROWTH: tuple[Break, ...] = (
    _Core(
        "a lost reader that holds its group never expires",
        "group/expiry.py",
        "return not holds and lease_ends(",
        "return lease_ends(",
        RULES,
    ),
    _Core(
        "while all readers are silent none of them expires",
        "group/expiry.py",
        "until = group.heard_at - expiry.readers_ms",
        "until = max(reader.heard_at for reader in group.readers.values())",
        RULES,
    ),
    _Core(
        "a group that an operator has configured never expires",
        "group/expiry.py",
        "if expiry.groups_ms is None or group.configured_at:",
        "if expiry.groups_ms is None:",
        RULES,
    ),
    _Core(
        "a successor of an expired reader has a higher epoch",
        "group/registering.py",
        "left_epoch=max(group.left_epoch, highest),",
        "left_epoch=group.left_epoch,",
        RULES,
    ),
    _Break(
        "a group that is heard between the look and the deletion does not expire",
        "service/coordinator.py",
        "if loaded.group == turn.group and not loaded.jumps and await self._store.delete(loaded):",
        "if await self._store.discard(name) is not None:",
        EXPIRING,
    ),
    _Break(
        "what has expired is logged as expired",
        "service/coordinator.py",
        "len(turn.group.readers), expired=True)",
        "len(turn.group.readers))",
        EXPIRING,
    ),
    _Break(
        "a group that cannot be read ends no look at the others",
        "service/expiring.py",
        "except (Refused, UnreadableGroup):",
        "except Refused:",
        EXPIRING,
    ),
    _Break(
        "Redis answers no more than a part of a large group at a time",
        "store/scripts/since_version.lua",
        "    if left <= 0 then\n",
        "    if false then\n",
        READING,
    ),
    _Break(
        "a group that changes while it is read is as in the last answer",
        "store/redis.py",
        "            found = await self._run(self._load, name, [known])\n",
        "            found = [known, sent_ms]\n",
        READING,
    ),
    _Break(
        "a record that is damaged is its group's fault alone",
        "store/reading.py",
        "except (msgspec.MsgspecError, ValueError) as error:",
        "except ZeroDivisionError as error:",
        READING,
    ),
    _Break(
        "one group that cannot be read does not take the list along",
        "api/groups.py",
        "        except UnreadableGroup as error:\n",
        "        except ZeroDivisionError as error:\n",
        UNREADABLE,
    ),
    _Break(
        "a group is deleted without being read",
        "store/scripts/discard.lua",
        "redis.call('DEL', unpack(KEYS))",
        "cjson.decode(head)\nredis.call('DEL', unpack(KEYS))",
        ("test_reading.py", "test_unreadable.py"),
    ),
    _Break(
        "a deletion that is repeated with its key spares the successor",
        "store/scripts/discard.lua",
        "  if act == ARGV[3] then",
        "  if act == ARGV[3] and call == ARGV[4] then",
        ("test_lost_answers.py",),
    ),
    _Break(
        "a change of Redis's eviction policy is said",
        "store/dangers.py",
        "            await self.look()\n",
        "            pass\n",
        ("test_seen.py",),
    ),
)
