"""The answer to an exchange: what one reader has to do now.

* `add_splits` lists the reader's splits that were missing from its request, or that the request
  gave with an outdated assignment number. After the store has lost data, and until splits are
  assigned again, it lists only the splits assigned since the loss. A lost commit may have assigned
  the others to another reader.
* `no_more_splits` is set if the reader gets no more splits, even if another reader is lost. Flink
  sets it as soon as all splits are assigned, because in Flink the loss of one reader restarts all
  of them.
* `is_processing_backlog` is set if any reader is working through a backlog. This enumerator does
  not read the logs, so the readers report it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from lockgate.enumerator.discovery import request_to
from lockgate.enumerator.model import Enumerator, OwnedSplit, ReaderId
from lockgate.wire.split_events import NumberedSourceEvent, NumberedSplit, SplitExchange


@dataclass(frozen=True, slots=True)
class Wishes:
    """The instructions in a `SplitAnswer`, except `stop`."""

    add_splits: tuple[NumberedSplit, ...] = ()
    give_back: tuple[str, ...] = ()
    no_more_splits: bool = False
    discover: int | None = None
    is_processing_backlog: bool = False
    source_events: tuple[NumberedSourceEvent, ...] = ()
    assigning_in_ms: int = 0


def wishes(enumerator: Enumerator, reader: ReaderId, event: SplitExchange, now_ms: int) -> Wishes:
    """Return the instructions for `reader` after its exchange `event`."""
    named = {each.split.split_id: each.assignment for each in event.held}
    assigning_in_ms = max(0, enumerator.assigning_at - now_ms)
    own = enumerator.readers.get(reader)
    if own is None:  # its lease has ended in the very exchange: it is heard too late
        return Wishes(assigning_in_ms=assigning_in_ms)
    certain_from = enumerator.began_at + 1 if assigning_in_ms else 0
    add = {id: each for id, each in own.held.items() if named.get(id) != each.number and each.number >= certain_from}
    return Wishes(
        add_splits=_numbered(add),
        give_back=tuple(sorted(own.revoked)),
        no_more_splits=has_no_more(enumerator, reader),
        discover=request_to(enumerator, reader, now_ms),
        is_processing_backlog=is_processing_backlog(enumerator),
        source_events=events_for(enumerator, reader, event.source_events_seen),
        assigning_in_ms=assigning_in_ms,
    )


def assigned_to(enumerator: Enumerator, reader: ReaderId) -> tuple[NumberedSplit, ...]:
    """Return the splits that `reader` holds, at their last positions. The result is empty if the
    enumerator does not know the reader.
    """
    return _numbered(enumerator.readers[reader].held if reader in enumerator.readers else {})


def has_no_more(enumerator: Enumerator, reader: ReaderId) -> bool:
    """Return whether this reader can get no more splits."""
    if not (enumerator.bounded and enumerator.listed) or enumerator.free:
        return False
    return not any(each.held for other, each in enumerator.readers.items() if other != reader)


def is_processing_backlog(enumerator: Enumerator) -> bool:
    return any(each.is_processing_backlog for each in enumerator.readers.values())


def events_for(enumerator: Enumerator, reader: ReaderId, seen: int) -> tuple[NumberedSourceEvent, ...]:
    """Return the SourceEvents for `reader` with numbers above `seen`, the last that it received.

    Events from before the reader's first exchange are left out.
    """
    own = enumerator.readers.get(reader)
    after = seen if own is None else max(seen, own.events_from)
    return tuple(
        NumberedSourceEvent(number=each.number, event=json.loads(each.text))
        for each in enumerator.to_readers
        if each.number > after and each.subtask in (None, reader[0])
    )


def _numbered(held: Mapping[str, OwnedSplit]) -> tuple[NumberedSplit, ...]:
    return tuple(NumberedSplit(split=each.split, assignment=each.number) for each in held.values())
