"""The keys in Redis, all under one prefix. A group's own keys have the group as hash tag, so they
are one slot of a cluster; names cannot contain braces.

lockgate:groups              sorted set: the names of all groups, all with score 0, so in the order of their bytes
lockgate:{<group>}:state     hash: `version`; `head` (all but the readers, JSON); `r:<subtask>:<source>` one reader each (JSON); `since`,
                             the version from which on changes and removals are known. With
                             `version` alone: a deleted group, which expires
lockgate:{<group>}:changes   sorted set: the field of each reader, with the version that changed it last
lockgate:{<group>}:removed   sorted set: the fields of readers that are gone, with the version that removed them, for a while
lockgate:{<group>}:claim     until when the group is claimed, in ms, and by which process; expires
lockgate:{<group>}:queue     list: the processes that were refused a claim, in the order in which they come next; expires
lockgate:ready               written by the readiness check, expires at once
"""

from lockgate.group.readers import ReaderKey

GROUPS = "lockgate:groups"
READY = "lockgate:ready"

_READER = "r:"


def of_group(group: str) -> tuple[str, str, str]:
    """The group's own keys: state, changes, removed."""
    return state(group), f"lockgate:{{{group}}}:changes", f"lockgate:{{{group}}}:removed"


def of_claim(group: str) -> tuple[str, str]:
    """Claim and queue."""
    return f"lockgate:{{{group}}}:claim", f"lockgate:{{{group}}}:queue"


def state(group: str) -> str:
    return f"lockgate:{{{group}}}:state"


def reader_field(key: ReaderKey) -> str:
    source, subtask = key
    return f"{_READER}{subtask}:{source}"


def is_reader(field: str) -> bool:
    return field.startswith(_READER)


def reader_key(field: str) -> ReaderKey:
    """The reader whose field this is. A source's name may contain colons."""
    _, subtask, source = field.split(":", 2)
    return source, int(subtask)
