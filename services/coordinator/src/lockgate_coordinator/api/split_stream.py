"""The frames of a reader's event stream.

Each event carries one complete value, such as all of the reader's splits, when it has changed.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from lockgate.enumerator.answers import assigned_to, events_for, has_no_more, is_processing_backlog
from lockgate.enumerator.model import Enumerator, ReaderId, SplitOwner
from lockgate.steps import Steps, for_each
from lockgate.wire.codec import to_json
from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate.wire.fields import Json
from lockgate_coordinator.api.stream import HEARTBEAT, frame
from lockgate_coordinator.pauses import InTurn
from lockgate_coordinator.service.announcer import News


async def frames(found: AsyncGenerator[News, None], reader: ReaderId, in_turn: InTurn) -> AsyncGenerator[bytes, None]:
    """Yield a frame for each alignment event in `found` and for each changed value of an
    enumerator, and a heartbeat for each None.
    """
    levels = Levels(reader)
    async with aclosing(found):
        async for news in found:
            if news is None:
                yield HEARTBEAT
            elif isinstance(news, WatermarkAlignmentEvent):
                yield frame("watermark-alignment", msgspec.json.encode(news), news.revision)
            else:
                for event, data in await in_turn.work(levels.changed(news)):
                    yield frame(event, json.dumps(data, separators=(",", ":")).encode())


class Levels:
    """The values that a stream has last sent to its reader. Only changed values are sent."""

    def __init__(self, reader: ReaderId) -> None:
        self._reader = reader
        self._own: SplitOwner | None = None
        self._splits: object = None
        self._backlog: bool | None = None
        self._no_more = False
        self._number = 0

    def changed(self, enumerator: Enumerator) -> Steps[list[tuple[str, Json]]]:
        """Return the event name and the data of each value that has changed since it was last sent,
        and record these values as sent.
        """
        yield  # one change may concern thousands of streams: each waits for its turn
        reader, found = self._reader, list[tuple[str, Json]]()
        if self._has_other_splits(enumerator.readers.get(reader)):
            splits = list[Json]()
            yield from for_each(assigned_to(enumerator, reader), lambda each: splits.append(to_json(each)))
            give_back = [] if self._own is None else sorted(self._own.revoked)
            found.append(("add-splits", {"revision": enumerator.revision, "splits": splits, "give_back": give_back}))
        no_more = has_no_more(enumerator, reader)
        if no_more and not self._no_more:
            found.append(("no-more-splits", {"revision": enumerator.revision}))
        self._no_more = no_more
        backlog = is_processing_backlog(enumerator)
        if backlog is not self._backlog:
            self._backlog = backlog
            found.append(("is-processing-backlog", {"is_processing_backlog": backlog}))
        for event in events_for(enumerator, reader, self._number):
            self._number = event.number
            found.append(("source-event", to_json(event)))
        return found

    def _has_other_splits(self, own: SplitOwner | None) -> bool:
        """Record the reader's splits, and return whether more than their positions have changed."""
        if own is not None and own is self._own:  # untouched
            return False
        splits = () if own is None else (own.revoked, {id: each.number for id, each in own.held.items()})
        before, self._own, self._splits = self._splits, own, splits
        return splits != before
