"""The way in: `AlignedConsumer`, a Kafka consumer whose splits wait for the ones behind."""

import asyncio
import inspect
import threading
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING, Any

from lockgate.errors import WrongState
from lockgate.flink.source.checkpoint import read_splits
from lockgate.flink.split_serializer import KafkaPartitionSplitSerializer
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.wire.split_codec import check_source_event
from lockgate_client.config import Coordinator
from lockgate_client.duration import Duration as Length
from lockgate_client.errors import ConfigurationError
from lockgate_reader.clock import monotonic_ms
from lockgate_reader.config import Options
from lockgate_reader.group import place_of
from lockgate_reader.kafka.client import KafkaClient
from lockgate_reader.kafka.messages import Key
from lockgate_reader.place import Alone, AssignedSplit, HeldSplit, Place
from lockgate_reader.reading.holding import Callbacks
from lockgate_reader.reading.piece_size import CHUNK
from lockgate_reader.reading.queue import Piece
from lockgate_reader.reading.reading import RunningReader
from lockgate_reader.signals import Terminated
from lockgate_reader.telemetry.status import ReaderStatus, metrics_of, status_of

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message
    from typing_extensions import Self


class AlignedConsumer:
    """Iterates over the records of `topics`, as confluent-kafka's messages, none above the ceiling.

    `kafka`: the settings of Kafka's client, with bootstrap.servers. `max_drift`: how far a split
    may run ahead of the lowest one (default 5 minutes; in a group the group's value rules besides).
    `disorder`: how far records of one split are out of order (default 0). `idle_timeout`: how far
    behind the clock a live producer may be (default 1 minute): a split that is read to its end has
    its watermark there. `strategy`: a `WatermarkStrategy` instead of these two, as in Flink.
    `event_time`: a function of a record that returns ms since 1970, or None (default: Kafka's
    timestamp). `future_bound`: a record that is stamped further ahead of the clock is left out of
    the alignment; it goes out with its neighbours (None: no such bound).

    `starting_offsets`: "committed" (default), "earliest" or "latest"; partitions that are found
    later begin at their first record. Or offsets, by topic and partition; a partition that is not
    named begins where it was committed. `starting_timestamp`: instead, each partition begins at its
    first record of this Kafka timestamp or a later one, else at its end: ms since 1970, or a
    datetime with its zone. `ending_offsets="latest"`: ends where the splits end now.
    `discovery_interval`: how often new partitions are looked for (0: never). `commit_interval`: how
    often what has gone out, and was worked on, is committed to Kafka (default: only by `commit`).

    `coordinator`, `source`: the group, and this consumer's name in it; the consumers of one name
    share its splits, by their `capacity`. `snapshot_interval`: how often the coordinator gets the
    positions (default: with each report). `subtask`: this consumer's number among them (default:
    the first that is free). `on_assigned`: called with
    the splits that the reader begins to hold; it may return positions, by topic and partition.
    `on_revoked`: called before splits are given back. `on_source_event`: called with what the
    source's enumerator sends.

    One thread may use a consumer, but for `stop`. Raises `ConfigurationError`.
    """

    def __new__(cls, *args: object, **options: object) -> "Self":
        """Says what to write, where an option is given that there is not."""
        names = [name for name in inspect.signature(cls.__init__).parameters if name != "self"]
        for option in options.keys() - set(names):
            near = get_close_matches(option, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
            raise ConfigurationError(f"{cls.__name__} has no option {option!r}: {hint}")
        return super().__new__(cls)

    def __init__(
        self,
        topics: str | Sequence[str],
        *,
        kafka: Mapping[str, Any],
        source: str | None = None,
        max_drift: Length | None = None,
        strategy: WatermarkStrategy | None = None,
        disorder: Length | None = None,
        idle_timeout: Length | None = None,
        event_time: "Callable[[Message], int | None] | None" = None,
        future_bound: Length | None = "1 day",
        starting_offsets: str | Mapping[Key, int] = "committed",
        starting_timestamp: int | datetime | None = None,
        ending_offsets: str | None = None,
        discovery_interval: Length = "1 minute",
        commit_interval: Length | None = None,
        coordinator: Coordinator | None = None,
        snapshot_interval: Length | None = None,
        subtask: int | None = None,
        capacity: int = 1,
        on_assigned: Callable[[Sequence[AssignedSplit]], Mapping[Key, int] | None] | None = None,
        on_revoked: Callable[[Sequence[HeldSplit]], None] | None = None,
        on_source_event: Callable[[object], None] | None = None,
    ) -> None:
        self._options = Options(
            topics=(topics,) if isinstance(topics, str) else tuple(topics),
            kafka=kafka,
            source=source,
            max_drift=max_drift,
            strategy=strategy,
            disorder=disorder,
            idle_timeout=idle_timeout,
            event_time=event_time,
            future_bound=future_bound,
            starting_offsets=starting_offsets,
            starting_timestamp=starting_timestamp,
            ending_offsets=ending_offsets,
            discovery_interval=discovery_interval,
            commit_interval=commit_interval,
            coordinator=coordinator,
            snapshot_interval=snapshot_interval,
            subtask=subtask,
            capacity=capacity,
        )
        self._callbacks = Callbacks(on_assigned, on_revoked, on_source_event)
        self._restored: list[KafkaPartitionSplit] = []
        self._reading: RunningReader | None = None
        self._batch: dict[Key, int] = {}  # the first offset of each split in the present batch
        self._stopped: bool | None = None  # with `drain` or without
        self._closed = False
        self._busy = threading.Lock()
        self._terminated: Terminated | None = None
        self._dropped: weakref.finalize[..., AlignedConsumer] | None = None

    # -- records --

    def __iter__(self) -> "Iterator[Message]":
        """The records, until the consumer is stopped or all splits are finished."""
        return chain.from_iterable(self._pieces())

    def _pieces(self) -> "Iterator[Iterator[Message]]":
        reading = self._open()
        reading.end_piece()
        while (records := self._next_records(reading)) is not None:
            # A loop that is left leaves the piece open: `close` learns whether its program failed.
            yield records
            reading.end_piece()

    def _next_records(self, reading: RunningReader) -> "Iterator[Message] | None":
        # No name keeps the piece: its records are freed before the next ones are fetched, which
        # then get the same memory, as long as it is in the processor's caches.
        piece = self._next(reading)
        return None if piece is None else reading.begin_piece(piece)

    def batches(self, max_records: int = 5_000) -> "Iterator[pa.RecordBatch]":
        """The records as Arrow batches of `max_records` at most: topic, partition, offset,
        timestamp (the event time; null where it does not take part), key, value. Needs the extra
        `arrow`.
        """
        from lockgate_reader.columns import Columns

        reading = self._open()
        reading.end_piece()
        while (piece := self._next(reading, max_records)) is not None:
            columns = Columns()
            while piece is not None:
                out, piece = reading.whole(piece), None
                self._batch.setdefault(out.key, int(out.messages[0].offset()))
                columns.add(out)
                del out  # freed before the next fetch, as in `_next_records`
                if columns.rows < max_records:
                    piece = reading.more(max_records - columns.rows)
            batch = columns.batch()
            if reading.lapsed:
                reading.holding.hand_back(self._batch)
            else:
                yield batch
            self._batch = {}  # the program has worked on it, or it goes back

    async def __aiter__(self) -> "AsyncIterator[Message]":
        """As `for`, in an event loop. What waits for Kafka does so in a thread, and so do the
        callbacks.
        """
        reading = await asyncio.to_thread(self._alone, self._open)
        reading.end_piece()
        while True:
            if reading.due:
                await asyncio.to_thread(self._alone, reading.turn)
            piece = reading.next_piece()
            if piece is None:
                if reading.ended:
                    return
                await asyncio.to_thread(self._alone, reading.wait)
                continue
            for message in reading.begin_piece(piece):
                yield message
            reading.end_piece()

    # -- positions --

    def snapshot(self) -> tuple[bytes, ...]:
        """The splits, each from the record behind the last one that has gone out: Flink's
        `KafkaPartitionSplit`, versioned. Raises `WrongState` before the first record.
        """
        return self._started("snapshot").snapshot()

    def restore(self, state: Sequence[bytes]) -> None:
        """Begins where `snapshot` was taken, and with partitions that are not in it at their first
        record. Raises `WrongState` after the first record, `ConfigurationError` in a group, and
        `UnreadableBytes`.
        """
        if self._reading is not None:
            raise WrongState("the consumer reads already: restore() comes before the first record")
        if self._options.coordinator is not None:
            raise ConfigurationError(
                "AlignedConsumer(coordinator): in a group the coordinator says who reads what and from where, so "
                "restore() has no place; return positions of your own from on_assigned="
            )
        self._restored = read_splits(state, KafkaPartitionSplitSerializer())

    def positions(self) -> dict[Key, int]:
        """The offset behind the last record that has gone out, by topic and partition. A split that
        is another reader's by now is left out.
        """
        return self._started("positions").positions()

    def held(self) -> list[HeldSplit]:
        """The splits that this consumer holds. `number` is the fencing token of a split's
        assignment: a store that keeps the highest one refuses an owner of before.
        """
        return self._started("held").holding.held()

    def number_of(self, record: "Message") -> int:
        """The number of the assignment under which a record went out: its fencing token. Raises
        `WrongState` where its split has gone since.
        """
        key = (str(record.topic()), int(record.partition() or 0))
        split = self._started("number_of").holding.by_key.get(key)
        if split is None:
            raise WrongState(f"{key[0]}-{key[1]} is no longer this consumer's: leave the record out")
        return split.number

    def send_source_event(self, event: dict[str, Any]) -> None:
        """Sends an event to the source's enumerator, where operators see it: an object of 4,096
        bytes at most as JSON. Raises `ConfigurationError` without a coordinator, and
        `InvalidValue`.
        """
        if self._options.coordinator is None:
            raise ConfigurationError(
                "AlignedConsumer(coordinator): send_source_event() needs a coordinator; without one nobody gets it"
            )
        check_source_event(event)
        reading = self._started("send_source_event")
        reading.holding.source_events.append(event)
        reading.wake()

    def commit(self, *, wait: bool = True) -> None:
        """Commits to Kafka what has gone out. Raises `KafkaFailed`; `ConfigurationError` without a
        group.id.
        """
        if not self._options.kafka.get("group.id"):
            raise ConfigurationError("AlignedConsumer(kafka): commit() needs a group.id; set one")
        self._started("commit").commit(wait=wait)

    # -- what it does --

    @property
    def watermark(self) -> int:
        """The watermark of what has gone out, ms: the lowest of the splits'. MIN before the first,
        MAX at the end of all data.
        """
        return self._started("watermark").output.watermark

    def status(self) -> ReaderStatus:
        """What the consumer does right now, and what it waits for. Asks neither Kafka nor the
        coordinator.
        """
        return status_of(self._reading, closed=self._closed)

    def metrics(self) -> dict[str, float]:
        """The numbers of `status`, and counters, by name."""
        return metrics_of(self._reading)

    # -- life --

    def stop(self, *, drain: bool = False) -> None:
        """Ends the iteration after the present record. From any thread, or a signal handler.
        `drain`: the data is at its end, so that event time reaches MAX; else it goes on from a
        snapshot.
        """
        if self._stopped is None:
            self._stopped = drain
        if self._reading is not None:
            self._reading.stop(drain=drain)

    def close(self) -> None:
        """Stops, gives everything back, and commits where `commit_interval` is set. A second call
        changes nothing. `with` does the same. After an error the present record, or batch, counts
        as one that has not gone out, and nothing is committed.
        """
        self._close(failed=False)

    def _close(self, *, failed: bool) -> None:
        if self._terminated is not None:
            self._terminated.forget()
        if self._dropped is not None:
            self._dropped.detach()
        with self._busy:
            reading, closed, self._closed = self._reading, self._closed, True
            if reading is not None and not closed:
                reading.end_piece(but_one=failed)
                if failed or reading.failure is not None:
                    for key, offset in self._batch.items():
                        reading.holding.go_back(key, offset)
                try:
                    if self._options.commit_interval is not None and not failed:
                        reading.commit(wait=True)
                finally:  # else the splits would be this consumer's for ever
                    reading.close()

    def __enter__(self) -> "Self":
        self._watch()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close(failed=error is not None)

    async def __aenter__(self) -> "Self":
        self._watch()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._close, failed=error is not None)

    # -- within --

    def _watch(self) -> None:
        self._terminated = self._terminated or Terminated(self.stop)  # not before: it keeps the consumer alive
        self._terminated.watch()

    def _open(self) -> RunningReader:
        if self._closed:
            raise WrongState("the consumer is closed: make a new one")
        self._batch = {}
        if self._reading is None:
            client = KafkaClient(self._options.kafka)
            self._reading = RunningReader(self._options, client, self._place(), self._callbacks)
            self._dropped = weakref.finalize(self, _dropped, self._reading.place, self._options)
            self._dropped.atexit = False  # the process ends, and with it all that reports
            if self._stopped is not None:  # before it began, or while it was made
                self._reading.stop(drain=self._stopped)
            self._reading.open()
        return self._reading

    def _next(self, reading: RunningReader, most: int = CHUNK) -> Piece | None:
        """The next piece, of `most` records at most, however long it takes; None at the end."""
        while True:
            if reading.due:
                reading.turn()
            piece = reading.next_piece(most)
            if piece is not None or reading.ended:
                return piece
            reading.wait()

    def _place(self) -> Place:
        options = self._options
        if options.coordinator is not None:
            return place_of(options.coordinator, options)
        return Alone(
            monotonic_ms,
            start=options.start,
            discovery_ms=options.discovery_ms,
            bounded=options.ending_offsets is not None,
            known=self._restored,
        )

    def _started(self, what: str) -> RunningReader:
        if self._reading is None:
            raise WrongState(f"the consumer has not begun to read: {what}() comes after the first record")
        return self._reading

    def _alone(self, call: Callable[[], Any]) -> Any:
        """One call at a time, of those that run in threads."""
        with self._busy:
            return call()


def _dropped(place: Place, options: Options) -> None:
    """A consumer that reads was dropped without `close`."""
    place.abandon()
    name = options.source or "-".join(options.topics)
    said = f"an AlignedConsumer of {name} was dropped without close(): call it, or write `with`"
    warnings.warn(said, ResourceWarning, stacklevel=2)
