"""`AlignedConsumer`, a Kafka consumer whose splits that are ahead wait for those behind."""

import asyncio
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING, Any

from lockgate.errors import WrongState
from lockgate.flink.source.checkpoint import read_splits
from lockgate.flink.split_serializer import KafkaPartitionSplitSerializer
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.wire.split_codec import check_source_event
from lockgate_http.config import Coordinator
from lockgate_http.duration import Duration as Length
from lockgate_http.errors import ConfigurationError
from lockgate_reader.clock import monotonic_ms
from lockgate_reader.config import Options, check_names
from lockgate_reader.group import place_of
from lockgate_reader.kafka.client import KafkaClient
from lockgate_reader.kafka.messages import Key
from lockgate_reader.place import Alone, AssignedSplit, Place, ReaderSplit, abandoned
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
    """Iterate over the records of `topics`, as confluent-kafka's messages, aligned in event time.

    No record above the read limit is returned. The limit is the lowest watermark of the consumer's
    splits plus `max_drift`; in a group, the group's limit applies as well. Use a consumer in one
    thread; only `stop` may be called from others.

    Examples:
        >>> kafka = {"bootstrap.servers": "localhost:9092", "group.id": "enricher"}
        >>> with AlignedConsumer("orders", kafka=kafka, starting_offsets="earliest") as consumer:
        ...     for record in consumer:
        ...         enrich(record)

    Args:
        topics: A topic, or several.
        kafka: Settings of Kafka's client; `bootstrap.servers` is required.
        source: This consumer's name in the group. Consumers with the same name share its splits.
        max_drift: How far a split may run ahead of the slowest one. Default: 5 minutes.
        strategy: A `WatermarkStrategy`, as in Flink, instead of the next two options.
        max_out_of_orderness: How far out of order the records of one split are. Default: 0.
        idle_timeout: How late a live producer may be: the watermark of a split that is read to its
            end follows the clock at this distance. Default: 1 minute.
        event_time: Function of a record that returns ms since 1970, or None. Default: Kafka's
            timestamp.
        future_bound: Records stamped further ahead of the clock than this are returned, but left
            out of the alignment. None: no such bound.
        starting_offsets: "committed", "earliest", "latest", or offsets by (topic, partition).
            Partitions without an offset start at their committed one, and partitions found later
            start at their first record.
        starting_timestamp: Start at the first record whose Kafka timestamp is this one or later, or
            at the end if there is no such record. In ms since 1970, or a datetime with a time zone.
            Replaces `starting_offsets`.
        ending_offsets: "latest" to stop at the current end of each split. Default: no end.
        discovery_interval: How often to look for new partitions. 0: never.
        commit_interval: How often to commit the records that your code has finished. Default: only
            when you call `commit`.
        coordinator: The coordinator, and the group to join.
        snapshot_interval: How often to send positions to the coordinator. Default: in each report.
        subtask: This consumer's number in its source. Default: the lowest free one.
        capacity: This consumer's share of the splits, relative to the capacity of the others.
        on_assigned: Called with new splits. It may return positions by (topic, partition).
        on_revoked: Called with splits before they are given back.
        on_source_event: Called with each event that the source's enumerator sends.

    Raises:
        ConfigurationError: An option is invalid; the message names it.

    """

    def __new__(cls, *args: object, **options: object) -> "Self":
        check_names(cls.__name__, cls.__init__, options)
        return super().__new__(cls)

    def __init__(
        self,
        topics: str | Sequence[str],
        *,
        kafka: Mapping[str, Any],
        source: str | None = None,
        max_drift: Length | None = None,
        strategy: WatermarkStrategy | None = None,
        max_out_of_orderness: Length | None = None,
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
        on_revoked: Callable[[Sequence[ReaderSplit]], None] | None = None,
        on_source_event: Callable[[object], None] | None = None,
    ) -> None:
        self._options = Options(
            topics=(topics,) if isinstance(topics, str) else tuple(topics),
            kafka=kafka,
            source=source,
            max_drift=max_drift,
            strategy=strategy,
            max_out_of_orderness=max_out_of_orderness,
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

    def __iter__(self) -> "Iterator[Message]":
        """Iterate over the records until the consumer is stopped or all splits are finished."""
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
        """Iterate over Arrow batches of at most `max_records` records. Requires the extra `arrow`.

        The columns are topic, partition, offset, timestamp, key and value. `timestamp` is the event
        time, or null if the record is left out of the alignment.
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
        """Iterate over the records in an event loop; waits and callbacks run in threads."""
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

    def snapshot(self) -> tuple[bytes, ...]:
        """Return the splits with their positions, each serialized as Flink's `KafkaPartitionSplit`.

        A position is the offset after the last record returned. Pass the result to `restore`.
        Raises `WrongState` before the first record.
        """
        return self._started("snapshot").snapshot()

    def restore(self, state: Sequence[bytes]) -> None:
        """Start at the positions of a snapshot. Partitions without a position start at their first
        record.

        Raises `WrongState` after the first record, `ConfigurationError` in a group, and
        `UnreadableBytes` if `state` is not a snapshot.
        """
        if self._reading is not None:
            raise WrongState("the consumer is already reading: call restore() before the first record")
        if self._options.coordinator is not None:
            raise ConfigurationError(
                "AlignedConsumer(coordinator): in a group the coordinator assigns splits and their positions, so "
                "restore() cannot be used; return positions of your own from on_assigned="
            )
        self._restored = read_splits(state, KafkaPartitionSplitSerializer())

    def positions(self) -> dict[Key, int]:
        """Return the offset after the last record returned, for each (topic, partition).

        A split that another reader has taken over is left out.
        """
        return self._started("positions").positions()

    def splits(self) -> list[ReaderSplit]:
        """Return the splits that this consumer owns. The `number` of a split is its fencing token:
        a store that keeps the highest token can reject writes of previous owners.
        """
        return self._started("splits").holding.held()

    def number_of(self, record: "Message") -> int:
        """Return the fencing token of the assignment under which `record` was returned.

        Raises `WrongState` if the record's split has been given away in the meantime.
        """
        key = (str(record.topic()), int(record.partition() or 0))
        split = self._started("number_of").holding.by_key.get(key)
        if split is None:
            raise WrongState(f"{key[0]}-{key[1]} is no longer this consumer's: skip the record")
        return split.number

    def send_source_event(self, event: dict[str, Any]) -> None:
        """Send an event to the source's enumerator. The coordinator's REST API lists it.

        Raises `InvalidValue` if the event is not a JSON object or is larger than 4,096 bytes, and
        `ConfigurationError` if the consumer has no coordinator.
        """
        if self._options.coordinator is None:
            raise ConfigurationError(
                "AlignedConsumer(coordinator): send_source_event() needs a coordinator, which gets the event; set one"
            )
        check_source_event(event)
        reading = self._started("send_source_event")
        reading.holding.source_events.append(event)
        reading.wake()

    def commit(self, *, wait: bool = True) -> None:
        """Commit the positions of all records returned so far to Kafka. With `wait=False`, do not
        wait for Kafka's answer. Raises `KafkaFailed`, or `ConfigurationError` without a group.id.
        """
        if not self._options.kafka.get("group.id"):
            raise ConfigurationError("AlignedConsumer(kafka): commit() needs a group.id; set one")
        self._started("commit").commit(wait=wait)

    @property
    def watermark(self) -> int:
        """Return the lowest watermark (ms) of all splits, for the records returned so far. It is
        MIN before the first record and MAX at the end of all data.
        """
        return self._started("watermark").output.watermark

    def status(self) -> ReaderStatus:
        """Return the consumer's state and what it waits for, without any network request."""
        return status_of(self._reading, closed=self._closed)

    def metrics(self) -> dict[str, float]:
        """Return the consumer's metrics by name: counters, and the figures of `status`."""
        return metrics_of(self._reading)

    def stop(self, *, drain: bool = False) -> None:
        """End the iteration after the current record. Any thread or signal handler may call this.

        With `drain`, the watermark rises to MAX, as at the end of all data. Without it, a later
        consumer can continue from a snapshot.
        """
        if self._stopped is None:
            self._stopped = drain
        if self._reading is not None:
            self._reading.stop(drain=drain)

    def close(self) -> None:
        """Stop, give the splits back, and commit if `commit_interval` is set. `with` does the same.

        After an error in the `with` block, the current record or batch counts as not returned, and
        nothing is committed.
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

    def _watch(self) -> None:
        self._terminated = self._terminated or Terminated(self.stop)  # not before: it keeps the consumer alive
        self._terminated.watch()

    def _open(self) -> RunningReader:
        if self._closed:
            raise WrongState("the consumer is closed: create a new one")
        self._batch = {}
        if self._reading is None:
            client = KafkaClient(self._options.kafka)
            self._reading = RunningReader(self._options, client, self._place(), self._callbacks)
            self._dropped = weakref.finalize(
                self, abandoned, self._reading.place, str(self._options.source or "-".join(self._options.topics))
            )
            self._dropped.atexit = False  # the process ends, and with it all that reports
            if self._stopped is not None:  # before it began, or while it was made
                self._reading.stop(drain=self._stopped)
            self._reading.open()
        return self._reading

    def _next(self, reading: RunningReader, most: int = CHUNK) -> Piece | None:
        """Wait for the next piece, of `most` records at most; return None at the end."""
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
            raise WrongState(f"the consumer has not begun to read: call {what}() after the first record")
        return self._reading

    def _alone(self, call: Callable[[], Any]) -> Any:
        """Run one call at a time, of those that run in threads."""
        with self._busy:
            return call()
