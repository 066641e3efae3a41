"""The loop of one reader.

The program gets records in pieces (docs/internals/architecture.md, "The way of one poll"). A record
counts as returned only once the program has taken it. All other work is done in `turn` between two
pieces, so no watermark is ahead of the records that the program has received.

The read limit is computed in each turn. To read a backlog faster, it is also recomputed when every
record up to the limit was returned and more are fetched, and when a partition has half of the
fetched records at which it is paused.
"""

import logging
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from lockgate.watermark import MAX, MIN
from lockgate_http.errors import KafkaFailed
from lockgate_http.history import record
from lockgate_reader.clock import monotonic_ms, now_s
from lockgate_reader.config import Options
from lockgate_reader.kafka import KafkaClient
from lockgate_reader.place import Key, Orders, Place
from lockgate_reader.reading.admission import read_limit, share, turned
from lockgate_reader.reading.assignment import Assignment
from lockgate_reader.reading.logs import Logs
from lockgate_reader.reading.split import CHUNK, OpenSplit, Piece, next_size

log = logging.getLogger("lockgate")

TURN_MS = 100
LAPSED_WAIT_S = 0.02  # the longest wait for records once the lease has ended


class RunningReader:
    """The reader of one consumer, for one thread. Only `wake` and `stop` may be called from others.

    No record above `limit` (ms) is returned. `stopped` is None until `stop` sets it to `drain`.
    `failure` is the error of a fetch, after which no more records are returned.
    """

    def __init__(self, options: Options, client: KafkaClient, place: Place) -> None:
        self.options, self.client, self.place = options, client, place
        self.lease_s = now_s
        self._max_drift_ms, self._late_ms = options.max_drift_ms, options.idle_timeout_ms
        self.assignment = Assignment(options, client, place)
        self._logs = Logs(client, options.topics, options.discovery_ms, self._late_ms)
        self._size = 1  # of the next piece
        self.orders = Orders(ceiling=MIN)
        self.limit = self._watermark = MIN
        self.attention = False
        self.stopped: bool | None = None
        self.failure: BaseException | None = None
        self._ready: OrderedDict[OpenSplit, None] = OrderedDict()  # whose next records may be returned, in turn
        self._going: Piece | None = None
        self._returned = 0  # records returned in pieces that have ended
        self._blocked = False  # whether a split was read up to the limit since the last decision
        self._left = False
        self._committed_at = monotonic_ms()
        self._next_turn = self._began = 0
        self._empty_at = 0  # when a fetch last returned no records

    def open(self) -> None:
        self._logs.changed(self.client.ask_topics(self.options.topics))  # before any position is used
        self.place.enter(self.wake)
        if self.options.partitions == "kafka":
            self.client.subscribe(self.options.topics, self._on_assigned, self._on_revoked)
        self.turn()

    def wake(self) -> None:
        """Make `turn` due before the next record is returned."""
        self.attention = True
        if (going := self._going) is not None:
            going.call_back()

    def stop(self, *, drain: bool) -> None:
        """Stop reading. With `drain`, the watermark rises to MAX."""
        if self.stopped is None:
            self.stopped = drain
        self.wake()

    @property
    def ended(self) -> bool:
        return self.stopped is not None or self.assignment.exhausted

    @property
    def watermark(self) -> int:
        """Return the lowest watermark (ms) of all splits. It never falls, and is MAX at the end."""
        drained = self.stopped if self.stopped is not None else self.assignment.exhausted
        return MAX if drained else self._watermark

    def close(self) -> None:
        self.end_piece()
        self._left = True
        try:
            self.place.leave(self.assignment.state(ended=self.watermark == MAX))
        finally:
            self.client.close()

    @property
    def lapsed(self) -> bool:
        """Return whether the lease has ended, so that no record may be returned."""
        return self.lease_s() >= self.orders.until

    @property
    def due(self) -> bool:
        """Return whether `turn` must be called before the next piece."""
        return self.attention or monotonic_ms() >= self._next_turn

    def poll(self, most: int = CHUNK, *, waits: bool = True) -> Piece | None:
        """Return the next piece, of at most `most` records; None at the end. Without `waits`, also
        return None if no piece is there, or if `turn` is due.
        """
        while waits or not self.due:
            if self.due:
                self.turn()
            piece = self.next_piece(most)
            if piece is not None or self.ended:
                return piece
            if waits:
                self.wait()
            elif self.client.subscribed or not self._fetch(0):  # no rebalance within a batch
                break
        return None

    def next_piece(self, most: int = CHUNK) -> Piece | None:
        """Return a piece of at most `most` records; None if no fetched record may be returned."""
        if self.ended or self.lapsed:
            return None
        while True:
            if not self._ready and self._blocked:
                self._decide()
            if not self._ready:
                return None
            split = next(iter(self._ready))
            piece = split.going = split.next_piece(self.limit, min(most, self._size))
            if piece is not None:
                self._ready.move_to_end(split)
                self._began, self._going = monotonic_ms(), piece
                return piece
            del self._ready[split]
            split.waits = bool(split.fetched)
            self._blocked = self._blocked or split.waits

    def wait(self) -> None:
        """Fetch records. If there are none, update the read limit, or wait until the next turn."""
        if self.ended or self._fetch(LAPSED_WAIT_S if self.lapsed else 0) or self.ended or self.lapsed:
            return
        if any(split.waits for split in self.assignment.splits.values()):
            self._decide()
        if not self._ready:
            self._fetch((self._next_turn - monotonic_ms()) / 1000)

    def begin_piece(self) -> Iterator[Any]:
        """Return an iterator over the current piece. Without it, all records count as returned."""
        assert self._going is not None, "next_piece() comes first"
        records = self._going.begin(self.orders.until, self.lease_s)
        if self.attention:  # set before this line, when there was no piece to call back
            self._going.call_back()
        return records

    def end_piece(self, *, but_one: bool = False) -> None:
        """End the current piece, which was processed; with `but_one`, all but its last record."""
        if (piece := self._going) is None:
            return
        self._going = None
        piece.call_back()
        count = max(0, piece.returned - but_one)
        if count and self.options.coordinator is not None:
            record("rows", self.options.coordinator.group, lambda: self._row_fields(piece, count))
        piece.split.account(count)
        if count:
            self._returned += count
            self._size = next_size(self._size, count, monotonic_ms() - self._began)
            if piece.split.finished:
                self.assignment.finish(piece.split)

    def _row_fields(self, piece: Piece, count: int) -> dict[str, Any]:
        """Return what `lockgate verify` checks for the first `count` records of `piece`."""
        return {
            "source": self.options.source,
            "restores": self.options.on_assigned is not None,
            "read_limit": self.orders.ceiling,
            "split": piece.split.name,
            "number": piece.split.number,
            "from": piece.messages[0].offset(),
            "to": piece.messages[count - 1].offset() + 1,
            "latest": max(piece.times[:count]),
        }

    @property
    def returned(self) -> int:
        going = self._going  # another thread may ask
        return self._returned + (0 if going is None else going.returned)

    def commit(self, *, wait: bool) -> None:
        self.client.commit(self.assignment.positions(), wait=wait)
        self._committed_at = monotonic_ms()

    def turn(self) -> None:
        """Get new orders, update the read limit, and do all other work that is due."""
        self.attention = False
        now = monotonic_ms()
        self._next_turn = now + TURN_MS
        if self.stopped is not None:
            return
        self._fetch(0, most=1)  # calls Kafka's client, and keeps the reader in Kafka's group, if the program is slow
        splits = self.assignment.splits.values()
        self._logs.look_for_ends(splits)
        self._logs.refetch_quiet(splits, now, self._empty_at)
        self._exchange()
        if self.assignment.has_more_to_say:
            self._next_turn = now
        self._decide()
        every_ms = self.options.commit_interval_ms
        # The positions of splits given back are committed at once, before another reader gets them.
        if every_ms is not None and (self.assignment.has_more_to_say or now - self._committed_at >= every_ms):
            self.commit(wait=False)

    def _exchange(self) -> None:
        now, splits, late_ms = monotonic_ms(), self.assignment.splits.values(), self._late_ms
        idle = late_ms is not None and all((split.silence(now) or (0, 0))[0] > late_ms for split in splits)
        # The event time up to which each split is fetched. Splits read to their end are left out.
        fetched = [
            max((records.highest for records in split.fetched), default=self._watermark)
            for split in splits
            if split.fetched or not split.silence(now)
        ]
        reach = max(self._watermark, min(fetched, default=self._watermark))
        self.orders = self.assignment.exchange(reach, idle=idle)

    def _decide(self) -> None:
        """Update the read limit, the paused partitions, and the splits that may return records."""
        self._blocked = False
        splits = self.assignment.splits.values()
        self.limit = read_limit(splits, self.orders.ceiling, self._max_drift_ms)
        lowest = min((split.watermark.value for split in splits if not split.watermark.idle), default=MIN)
        self._watermark = max(self._watermark, lowest)
        changed = turned(splits)
        self.client.pause([split.key for split in changed if not split.paused])
        self.client.resume([split.key for split in changed if split.paused])
        for split in changed:
            split.paused = not split.paused
        self._ready = OrderedDict.fromkeys(split for split in self._ready if split.open)
        for split in splits:
            time = split.next_time
            split.waits = time is not None and time > self.limit
            if time is not None and not split.waits:
                self._ready.setdefault(split)

    def _fetch(self, timeout_s: float, most: int = CHUNK) -> bool:
        """Fetch records, and return whether there were any. An error ends the reader."""
        if self.failure is not None:
            raise self.failure
        try:
            messages = self.client.fetch(most, timeout_s)
            self._take(messages)
        except BaseException as error:
            self.failure = error
            raise
        if not messages:
            self._empty_at = monotonic_ms()
        return bool(messages)

    def _take(self, messages: list[Any]) -> None:
        full, most_kept = False, share(len(self.assignment.splits))
        for split in self.assignment.take(messages):
            if split.fetched and not split.waits:
                self._ready.setdefault(split)
            full = full or (split.kept > most_kept // 2 and not split.paused)
            if split.finished:
                self.assignment.finish(split)
        self._logs.look_for_new_topics(self.assignment.splits.values())
        self._logs.move_lost(self.assignment.lost, self.assignment.splits.values())
        if full:
            self._decide()

    # -- Kafka's group, in callbacks within `_fetch` --

    def _on_assigned(self, keys: list[Key]) -> None:
        if not self._left:  # else Kafka's client is being closed
            self.assignment.kafka_assigned(keys)
            self._exchange()

    def _on_revoked(self, keys: list[Key], *, lost: bool = False) -> None:
        if self._left:
            return
        if not lost and self.options.commit_interval_ms is not None:
            try:
                self.commit(wait=True)  # the next owner begins here
            except KafkaFailed as error:
                log.warning("%s; records since the last commit will be read again by another consumer", error)
        self.assignment.kafka_revoked(keys, lost=lost)
        self._exchange()
