"""The keys in Redis, all under one prefix.

The keys of a group have its name as their hash tag, so they are in one slot of a cluster. Names
cannot contain braces.

lockgate:groups              sorted set of the names of all groups, with score 0, so in byte order
lockgate:{<group>}:state     hash with `version`; `head`, the group without its readers (JSON);
                             `r:<subtask>:<source>` for each reader (JSON); `since`, the first
                             version whose changes and removals are recorded; `mark`, the version
                             and the series of the last commit (`histories`); `reserved`, the
                             process with a reservation and its end in ms. The hash of a deleted
                             group has only `version`, and `gone`, the request that deleted the
                             group; this hash expires
lockgate:{<group>}:changes   sorted set of the fields of readers, by the version that changed them
lockgate:{<group>}:removed   sorted set of the fields of readers that were removed in the last
                             hour, by the version that removed them
lockgate:{<group>}:series    sorted set of the series that have ended in the last hour, by the
                             last version of each
lockgate:{<group>}:splits:state, …:changes, …:removed, …:series
                             the same for the split enumerators of the group's sources. The
                             fields of the hash are `r:s:<source>` for the enumerator's own
                             values, `r:l:<source>` for the splits without a reader, and
                             `r:<subtask>/<epoch>:<source>` for each reader with its splits (JSON)
lockgate:{<group>}:journal   stream of the journal's entries (JSON in `entry`); expires
lockgate:{<group>}:samples:<level>
                             stream of samples for charts (JSON in `sample`); expires
lockgate:ready               key that the readiness check writes; expires at once
"""

from lockgate.group.reader import ReaderKey
from lockgate_coordinator.store.base import SAMPLE_LEVELS

GROUPS = "lockgate:groups"
READY = "lockgate:ready"
SPLITS = ":splits"


def of_group(group: str, part: str = "") -> tuple[str, str, str, str]:
    """Return the keys `state`, `changes`, `removed`, `series` of a group, or of its `SPLITS`."""
    prefix = f"lockgate:{{{group}}}{part}"
    return f"{prefix}:state", f"{prefix}:changes", f"{prefix}:removed", f"{prefix}:series"


def state(group: str) -> str:
    return of_group(group)[0]


def journal(group: str) -> str:
    return f"lockgate:{{{group}}}:journal"


def samples(group: str) -> tuple[str, ...]:
    """Return the keys of a group's samples, one for each of `SAMPLE_LEVELS`."""
    return tuple(f"lockgate:{{{group}}}:samples:{level}" for level in range(len(SAMPLE_LEVELS)))


def all_of_group(group: str) -> tuple[str, ...]:
    """Return all keys of a group, beginning with those of its state."""
    return (*of_group(group), journal(group), *of_group(group, SPLITS), *samples(group))


def reader_field(key: ReaderKey) -> str:
    source, subtask = key
    return f"r:{subtask}:{source}"


def reader_key(field: str) -> ReaderKey:
    """Return the reader that `field` names. The name of its source may contain colons."""
    _, subtask, source = field.split(":", 2)
    return source, int(subtask)
