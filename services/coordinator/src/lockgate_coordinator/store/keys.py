"""The keys in Redis, all under one prefix. A group's own keys have the group as hash tag, so they
are in one slot of a cluster; names cannot contain braces.

lockgate:groups              sorted set: the names of all groups, with score 0, so in byte order
lockgate:{<group>}:state     hash: `version`; `head`, all but the readers (JSON);
                             `r:<subtask>:<source>`, one reader each (JSON); `since`, the version
                             from which on changes and removals are recorded; `mark`, the
                             version and the series of its commit (`histories`); `reserved`,
                             until when, in ms, and by which process. With `version`
                             alone, or with `gone`, the request that deleted it: a deleted group,
                             which expires
lockgate:{<group>}:changes   sorted set: the field of each reader, with the version that changed it
lockgate:{<group>}:removed   sorted set: the fields of removed readers, with the version that
                             removed them, for a while
lockgate:{<group>}:series    sorted set: the series of commits that have ended, with the last
                             version of each, for a while
lockgate:{<group>}:splits:state, …:changes, …:removed, …:series
                             the same four of the split enumerators of the group's sources. The
                             fields of the state: `r:s:<source>`, the enumerator's own values;
                             `r:l:<source>`, splits that nobody holds;
                             `r:<subtask>/<epoch>:<source>`, one reader with its splits (all JSON)
lockgate:{<group>}:journal   stream: the group's journal, an entry each (JSON in `entry`); expires
lockgate:{<group>}:samples:<level>
                             stream: samples for charts, an entry each (JSON in `sample`); expires
lockgate:ready               written by the readiness check, expires at once
"""

from lockgate.group.reader import ReaderKey
from lockgate_coordinator.store.base import SAMPLE_LEVELS

GROUPS = "lockgate:groups"
READY = "lockgate:ready"
SPLITS = ":splits"


def of_group(group: str, part: str = "") -> tuple[str, str, str, str]:
    """Return the four keys of the group, or with the `part` `SPLITS` those of its enumerators:
    state, changes, removed, series.
    """
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
    """Return the reader of a field. A source's name may contain colons."""
    _, subtask, source = field.split(":", 2)
    return source, int(subtask)
