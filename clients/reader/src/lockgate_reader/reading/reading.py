"""One reader at work: fetch, let go out what the ceiling admits, account for it, exchange.

    fetch ──► records of each split ──► queue ──► piece ──► the program, record by record
                                       ▲                       │ what has gone out
                                 ceiling                       ▼
    place ◄──── state, orders ────► reader ◄──── SourceOperator

**Order of things.** The program gets a piece: records of one split, none above the ceiling. Only
then does the source operator get them (`source_reader`). Timers fire between pieces, never within
one. So no watermark, in a report or in `watermark`, is ahead of what the program has received.

**Two levels, as in Flink.** The operator pauses single splits whose watermark is above the ceiling,
and makes the whole source wait if its own watermark is. That alone would let records above the
ceiling through, since a watermark is known only after its record. So the queue looks at each
record before it goes out. A record above the ceiling is kept back; the operator learns of it
(`next_record`).

**Whenever nothing is ready**, watermarks are emitted at once and the ceiling is taken anew, instead
of at the next interval. So a backlog is not bounded by `max_drift` an interval.

**Attention.** A flag that any thread may set. The rest of the piece that goes out is called back
(`pieces`), and a turn comes first.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lockgate.flink.elements import Watermark
from lockgate.flink.source.checkpoint import write_splits
from lockgate.flink.source.operator import RUNNING, OperatingMode, SourceOperator, SourceOptions
from lockgate.flink.source.operator_events import ReportedWatermarkEvent, ToCoordinator, WatermarkAlignmentEvent
from lockgate.flink.source.reader import DataInputStatus
from lockgate.flink.split_serializer import KafkaPartitionSplitSerializer
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.watermark import MAX, MIN
from lockgate_reader.clock import monotonic_ms, now_s, wall_clock_ms
from lockgate_reader.config import Options
from lockgate_reader.kafka.client import KafkaClient
from lockgate_reader.place import Orders, Place, ReaderSplit
from lockgate_reader.reading.arrivals import Arrivals
from lockgate_reader.reading.ceiling import own_ceiling
from lockgate_reader.reading.commits import Commits
from lockgate_reader.reading.ends import Ends
from lockgate_reader.reading.holding import Callbacks, Holding
from lockgate_reader.reading.lost_positions import LostPositions
from lockgate_reader.reading.next_record import HandedOut, SplitStrategy
from lockgate_reader.reading.output import StreamOutput
from lockgate_reader.reading.piece_size import CHUNK, PieceSize
from lockgate_reader.reading.pieces import GoingOut, GoneOut
from lockgate_reader.reading.queue import Piece, SplitQueue
from lockgate_reader.reading.source_reader import KafkaSplitReader
from lockgate_reader.reading.split import Key, OpenSplit
from lockgate_reader.reading.timers import ReaderTime
from lockgate_reader.reading.topic_ids import TopicIds

UPDATE_INTERVAL_MS = 1_000
WAIT_S = 0.1
"""The longest wait for Kafka before the place is asked again."""
TURN_MS = 100


class RunningReader:
    """The reader of one consumer. One thread uses it, but for `wake` and `stop`. `ceiling`: no
    record above it goes out, ms.
    """

    def __init__(
        self,
        options: Options,
        client: KafkaClient,
        place: Place,
        callbacks: Callbacks,
        *,
        now_ms: Callable[[], int] = monotonic_ms,
        wall_ms: Callable[[], int] = wall_clock_ms,
        lease_s: Callable[[], float] = now_s,
    ) -> None:
        self.options, self.client, self.place = options, client, place
        self.now_ms, self.wall_ms, self.lease_s = now_ms, wall_ms, lease_s
        self._max_drift_ms = options.max_drift_ms
        self.time = ReaderTime(now_ms)
        self.queue = SplitQueue()
        self.strategy = SplitStrategy(options.watermarks)
        self.ends = Ends(lambda keys: client.ask_offsets(keys, latest=True), now_ms, wall_ms)
        self.arrivals = Arrivals(options, client, wall_ms)
        ids = TopicIds(client.ask_topics, options.topics, now_ms, options.discovery_ms)
        self._lost = LostPositions(client, self.queue, ids)
        self.holding = Holding(
            options, client, place, self.queue, self.strategy, self.ends, callbacks, self.arrivals.lost
        )
        self.reader = KafkaSplitReader(self.holding.opened, self._paused, self.holding.source_event, self.position)
        self.operator: SourceOperator[KafkaPartitionSplit] = SourceOperator(
            lambda context: self.reader,
            KafkaPartitionSplitSerializer(),
            self.strategy.strategy(self._max_drift_ms, UPDATE_INTERVAL_MS),
            self.time,
            send=self._send,
            options=SourceOptions(buffer_size=0),
        )
        self.holding.attach(self.operator, self.reader, self.position)
        self.output = StreamOutput()
        self.orders = Orders(ceiling=MIN)
        self.ceiling = self.operator.max_desired_watermark
        self.attention = False
        self._going: GoingOut | None = None
        self._handed_out = 0  # in pieces that have ended
        self.stopped: bool | None = None  # by `stop`, with `drain` or without
        self.failure: BaseException | None = None  # of a fetch
        self._moved = True
        self._size = PieceSize()
        self._next_turn: float = 0
        self._commits = Commits(client, options.commit_interval_ms, now_ms)

    # -- life --

    def open(self) -> None:
        """Begin: the operator, and the place."""
        self._lost.begin()
        self.operator.open()
        self.operator.emit_next(self.output)
        self.place.enter(self.wake)
        self.turn()

    def wake(self) -> None:
        """Make the reader exchange with its place before the next record, from any thread."""
        self.attention = True
        if (going := self._going) is not None:
            going.call_back()

    def stop(self, *, drain: bool) -> None:
        """Let nothing more out. From any thread, or a signal handler."""
        if self.stopped is None:
            self.stopped = drain
        self.wake()

    @property
    def ended(self) -> bool:
        """Return whether nothing goes out any more."""
        return self.stopped is not None or self.operator.mode not in RUNNING

    def close(self) -> None:
        """Leave the place and Kafka. A second call changes nothing."""
        self.end_piece()
        self.operator.stop(drain=bool(self.stopped))
        self._finish()
        try:
            self.place.leave(self.holding.state(ended=self.output.watermark == MAX))
        finally:
            self.operator.close()
            self.client.close()

    # -- records --

    @property
    def lapsed(self) -> bool:
        """Return whether nothing may go out now: the deadline has passed."""
        return self.lease_s() >= self.orders.until

    @property
    def due(self) -> bool:
        """Return whether `turn` comes before the next piece."""
        return self.attention or self.now_ms() >= self._next_turn

    def more(self, most: int) -> Piece | None:
        """Return at most `most` records that may go out along with the last piece, without waiting;
        None if there are none, or a turn is due.
        """
        if self.due:
            return None
        piece = self.next_piece(most)
        if piece is None and not self.ended:
            self._fetch(0)
            piece = self.next_piece(most)
        return piece

    def next_piece(self, most: int = CHUNK) -> Piece | None:
        """Return the next records to go out, at most `most`; None if the reader has to wait, or has
        ended.
        """
        if self.ended or self.lapsed:
            return None
        most = min(most, self._size.most)
        while self.operator.mode is OperatingMode.READING:
            found = self.queue.next_piece(self.ceiling, most)
            if isinstance(found, Piece):
                return found
            if found is not None:
                self._keep_back(found)
            elif not self._level():
                return None
        return None

    def wait(self) -> None:
        """Wait for records, a short while."""
        if not self.ended:
            due_s = max(0.0, min(self.time.next_ms, self._next_turn) - self.now_ms()) / 1000
            self._fetch(0.02 if self.lapsed else min(WAIT_S, due_s))

    def begin_piece(self, piece: Piece, *, whole: bool = False) -> Iterator[Any]:
        """Return the messages of a piece, which go out one by one, or have all gone out (`whole`).
        Call `end_piece` after it.
        """
        self._size.begins(self.now_ms())
        self.time.clock.pause()
        self._going = going = GoingOut(piece, self.orders.until, self.lease_s, whole=whole)
        if self.attention:  # whoever set it before this line has called back nothing
            going.call_back()
        return going.records

    def whole(self, piece: Piece) -> GoneOut:
        """Let a whole piece out at once."""
        out = GoneOut(piece.split.key, piece.messages, piece.times)
        self.begin_piece(piece, whole=True)
        self.end_piece()
        return out

    def end_piece(self, *, but_one: bool = False) -> None:
        """Accounts for the records of the piece that have gone out. `but_one`: the last one has
        not.
        """
        going, self._going = self._going, None
        if going is None:
            return
        going.call_back()
        self.time.clock.resume()
        piece, count = going.piece, going.count - but_one
        if count > 0:
            self._gone(piece if count == piece.count else Piece(piece.split, piece.records, piece.records.at + count))

    @property
    def handed_out(self) -> int:
        """How many records have gone out, those of the piece that is going out among them."""
        going = self._going  # another thread may ask
        return self._handed_out + (0 if going is None else going.count)

    def position(self, split: OpenSplit) -> int:
        """Return the next offset of a split to go out, also while one of its pieces goes out."""
        going = self._going
        if going is None or going.piece.split is not split or not going.count:
            return split.position
        records = going.piece.records
        return int(records.messages[records.at + going.count - 1].offset()) + 1

    def snapshot(self) -> tuple[bytes, ...]:
        """All splits, from their next records on, as bytes. Those that were read to their end, too:
        they would else be new where this is restored.
        """
        splits = [split.rest(self.position(split)) for split in self.reader.splits.values()]
        return write_splits([*splits, *self.holding.read_out.values()], KafkaPartitionSplitSerializer())

    def positions(self) -> dict[Key, int]:
        """Return the next offset of each split."""
        found = {split.key: self.position(split) for split in self.reader.splits.values()}
        return {**self.holding.last_positions, **found}

    def commit(self, *, wait: bool) -> None:
        """Commit to Kafka what has gone out."""
        self._commits.commit(self.positions(), wait=wait)

    def is_at_end(self, held: ReaderSplit) -> bool:
        """Return whether a held split is read to its end."""
        split = self.reader.splits.get(held.split.split_id)
        return split is not None and self.ends.is_silent(split)

    # -- within --

    def turn(self) -> None:
        """Do what is due between two pieces."""
        self.attention = False
        now = self.now_ms()
        self._next_turn = now + TURN_MS
        if self.stopped is not None:
            self.operator.stop(drain=self.stopped)
            self._finish()
            return
        self._or_end(lambda: self._lost.look(self.reader.splits.values()))
        self.ends.look(self.reader.splits.values())
        for split, watermark in self.ends.horizons(self.reader.splits.values(), self.options.idle_timeout_ms):
            self.reader.emit_watermark(split, watermark)
            self._moved = True
        self.time.fire_due()
        self.orders = self.holding.exchange()
        if self.holding.has_more_to_say:
            self._next_turn = now
        self._align()
        if self._commits.is_due(changed=self.holding.has_more_to_say):
            self.commit(wait=False)
        self._account()

    def _level(self) -> bool:
        """Update watermarks and ceiling, and return whether a split became ready."""
        if not self._moved or self.queue.lowest_kept_back is None:
            return False
        self._moved = False
        self.time.fire_due(early=True)
        return self._align()

    def _align(self) -> bool:
        """Update the ceiling from the operator's watermark and the orders, and return whether a
        split became ready.
        """
        awake = [split for split in self.reader.splits.values() if split.name not in self.operator.splits.idle]
        known = bool(awake) and all(split.next_time is not None for split in awake)
        stands = bool(awake) and all(split.paused for split in awake)
        watermark, drift = self.operator.watermark.latest, self._max_drift_ms
        ceiling = min(own_ceiling(watermark, drift, known, self.queue.lowest_kept_back), self.orders.ceiling)
        # A split that comes from further behind lowers the group's ceiling, and not the operator's
        # watermark. The operator is not to wait while there is something to read below the ceiling.
        for_operator = ceiling if stands else max(ceiling, watermark)
        if (ceiling, for_operator) != (self.ceiling, self.operator.max_desired_watermark):
            self.ceiling = ceiling
            self.operator.handle_event(WatermarkAlignmentEvent(for_operator))
        return self.queue.release(ceiling)

    def _keep_back(self, split: OpenSplit) -> None:
        """Tell the operator of the record that the ceiling keeps back."""
        records = split.fetched[0]
        self.reader.gone.append(
            (split, HandedOut((), (), kept_back=records.messages[records.at], kept_back_time=records.times[records.at]))
        )
        self._moved = True
        self._account()

    def _account(self) -> None:
        """Let the operator poll what has gone out."""
        if self.operator.mode is not OperatingMode.READING:
            return
        if self.operator.emit_next(self.output) is DataInputStatus.END_OF_DATA:
            self._finish()

    def _finish(self) -> None:
        """Finish at the end of the data: event time goes to MAX, unless the reader was stopped."""
        while self.operator.mode is not OperatingMode.DATA_FINISHED:
            if self.operator.emit_next(self.output) is DataInputStatus.END_OF_DATA:
                break
        else:
            if self.stopped is not None:
                return
        if self.stopped is not False:
            self.output.emit(Watermark(MAX))

    def _gone(self, piece: Piece) -> None:
        split, records, count = piece.split, piece.records, piece.count
        times = piece.times
        highest = records.highest if count == len(records.times) else max(times)
        self.reader.gone.append((split, HandedOut(piece.messages, times, highest)))
        split.gone(records, count)
        self._handed_out += count
        self._moved = True
        self._size.took(count, self.now_ms())
        if not split.fetching and split.kept <= self._kept_at_most // 2:
            split.fetching = True
            self.client.resume([split.key])
        self._account()
        if split.finished:
            self.holding.finish(split)
            self._account()

    def _fetch(self, timeout_s: float) -> None:
        if self.failure is not None:
            raise self.failure
        self._or_end(lambda: self._take(self.client.fetch(CHUNK, timeout_s)))

    def _or_end(self, call: Callable[[], None]) -> None:
        """End the reader on an error, since nothing behind it may go out."""
        try:
            call()
        except BaseException as error:
            self.failure = error
            raise

    def _take(self, messages: list[Any]) -> None:
        for split in self.arrivals.take(messages, self.holding.by_key):
            self.queue.add(split)
            if split.fetching and split.kept > self._kept_at_most:
                split.fetching = False
                self.client.pause([split.key])
            if split.finished:
                self.holding.finish(split)
                self._account()
        if self.arrivals.lost:
            self._lost.take(self.arrivals.lost, list(self.reader.splits.values()))

    @property
    def _kept_at_most(self) -> int:
        return max(CHUNK, self.arrivals.most_kept // max(1, len(self.reader.splits)))

    def _paused(self, pause: Sequence[str], resume: Sequence[str]) -> None:
        for name in pause:
            self.reader.splits[name].halted = True
        for name in resume:
            self.reader.splits[name].halted = False
            self.queue.add(self.reader.splits[name])

    def _send(self, event: ToCoordinator) -> None:
        """Do nothing: reports go by the exchange, which has the whole state."""
        if isinstance(event, ReportedWatermarkEvent):
            self._moved = True
