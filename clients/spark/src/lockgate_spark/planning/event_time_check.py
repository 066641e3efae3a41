"""Ends a query whose `event_time` expression is null for every inspected record, because a field is
misspelt or the topic contains something else (`docs/guide/event-time.md`): the unread ones, and the
last `LOOKED` records of up to `MOST_SPLITS` splits, if some of these have a value.
"""

import json
from collections.abc import Mapping, Sequence

from lockgate_http.errors import ConfigurationError
from lockgate_spark.logs.topics import topic_of
from lockgate_spark.logs.unread import Source, Unread

LOOKED = 100  # records at the end of each split
MOST_SPLITS = 64  # those with unread records come first
_MOST_NAMES = 20


class EventTimeCheck:
    """Checks the sources of one run."""

    def __init__(self) -> None:
        self._shown: set[int] = set()  # the sources with an event time
        self._looked: dict[int, Mapping[str, int]] = {}  # the ends at the last look

    def check(self, unread: Unread) -> None:
        """Inspect the sources in which no event time was found yet. Raises `ConfigurationError` if
        `event_time` is null for every inspected record although some have a value.
        """
        for i, source in unread.sources.items():
            if i in self._shown:
                continue
            positions, ends = unread.positions[i], unread.ends[i]
            if source.event_time is None or source.log.heads(positions, ends):
                self._shown.add(i)
            elif self._looked.get(i) != ends and any(positions[split] < end for split, end in ends.items()):
                self._looked[i] = ends
                # a restart may find the splits with event times read to their ends
                order = sorted(ends, key=lambda split: (positions[split] >= ends[split], split))
                self._look(i, source, ends, order[:MOST_SPLITS])

    def _look(self, i: int, source: Source, ends: Mapping[str, int], splits: Sequence[str]) -> None:
        begins = source.log.requests.begins()
        seen = source.sampled(
            {split: (max(begins.get(split, 0), ends[split] - LOOKED), ends[split]) for split in splits}
        )
        if seen.timed:
            self._shown.add(i)
        elif seen.valued:
            topics = ", ".join(sorted({topic_of(split) for split in splits}))
            text = str(getattr(source.event_time, "text", source.event_time))
            raise ConfigurationError(
                f"Alignment(event_time={text!r}): it gives no time for any of the {seen.looked} records looked at in "
                f"{topics}; {_described(seen.value)}. Correct the expression, or leave event_time out to align by "
                "Kafka's timestamp"
            )


def _described(value: str) -> str:
    """Describe a value by the names of its fields, because its content may be secret."""
    if value == "?":
        return "their values are not text (Avro or Protobuf?)"
    try:
        found = json.loads(value)
    except ValueError:
        return "their values are text, but not JSON"
    if not isinstance(found, dict) or not found:
        return "their values are JSON without fields"
    names = list[str]()
    for name, field in found.items():
        names += [f"{name}.{inner}" for inner in field] if isinstance(field, dict) and field else [name]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"a value there has the fields {', '.join(names[:_MOST_NAMES])}{more}"
