"""Names of splits in messages. If two sources of a query, for example from two clusters, read
partitions of the same name, the number of the source is added.
"""

from collections import Counter
from collections.abc import Iterable

from lockgate_spark.logs.unread import Key


def names(keys: Iterable[Key], among: Iterable[Key]) -> dict[Key, str]:
    """Return the name of each split, with its source if several splits in `among` share a name."""
    known = Counter(split for _, split in set(among))
    return {key: key[1] if known[key[1]] < 2 else f"{key[1]} of source {key[0]}" for key in keys}


def named(key: Key, among: Iterable[Key]) -> str:
    """Return the topic and partition of a split for log lines, with its source if needed."""
    topic, _, partition = key[1].rpartition("-")
    source = f" of source {key[0]}" if any(i != key[0] and split == key[1] for i, split in among) else ""
    return f"topic {topic}, partition {partition}{source}"
