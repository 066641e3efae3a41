"""The keys in Redis, all under one prefix. A group's own key has the group as hash tag; names cannot contain braces.

lockgate:groups              sorted set: the names of all groups, all with score 0, so in the order of their bytes
lockgate:{<group>}:state     hash: `version`; `head` (all but the readers, JSON); `r:<subtask>:<source>` one reader each (JSON).
                             With `version` alone: a deleted group, which expires
lockgate:ready               written by the readiness check, expires at once
"""

from lockgate.readers import ReaderKey

GROUPS = "lockgate:groups"
READY = "lockgate:ready"

_READER = "r:"


def state(group: str) -> str:
    return f"lockgate:{{{group}}}:state"


def reader_field(key: ReaderKey) -> str:
    source, subtask = key
    return f"{_READER}{subtask}:{source}"


def reader_key(field: str) -> ReaderKey | None:
    """The reader whose field this is; None for a field that is no reader's. A source's name may contain colons."""
    if not field.startswith(_READER):
        return None
    subtask, source = field.removeprefix(_READER).split(":", 1)
    return source, int(subtask)
