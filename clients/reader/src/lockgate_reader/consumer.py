"""`AlignedConsumer`: a Kafka consumer in which splits that are ahead wait for those behind."""

import asyncio
import signal
import threading
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

from lockgate.errors import WrongState
from lockgate.flink.source.checkpoint import read_splits, write_splits
from lockgate.flink.split_serializer import KafkaPartitionSplitSerializer
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.wire.split_codec import check_source_event
from lockgate_http.config import Coordinator, Named
from lockgate_http.duration import Duration as Length
from lockgate_http.errors import ConfigurationError
from lockgate_reader.config import Options
from lockgate_reader.group.joined import JoinedPlace
from lockgate_reader.kafka import KafkaClient
from lockgate_reader.place import Alone, AssignedSplit, Key, Place, ReaderSplit
from lockgate_reader.reading.reader import RunningReader
from lockgate_reader.reading.status import ReaderStatus, metrics_of, status_of

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message
    from typing_extensions import Self


class AlignedConsumer(Named):
    """Iterate over the records of `topics`, as confluent-kafka's messages, aligned in event time.

    No record above the read limit is returned. The limit is the lowest watermark of the consumer's
    splits plus `max_drift`; in a group, the group's limit applies as well. Use a consumer in one
    thread; only `stop` may be called from others. Before the first record, methods that need the
    consumer's splits raise `WrongState`.

    Examples:
        >>> kafka = {"bootstrap.servers": "localhost:9092", "group.id": "enricher"}
        >>> with AlignedConsumer("orders", kafka=kafka, starting_offsets="earliest") as consumer:
        ...     for record in consumer:
        ...         enrich(record)

    Args:
        topics: A topic, or several.
        kafka: Settings of Kafka's client; `bootstrap.servers` is required. With
            `enable.auto.commit` (default: only with `partitions="kafka"`), the consumer commits,
            every `auto.commit.interval.ms`, the records that your code has finished.
            `auto.offset.reset` (default: error) applies to missing and lost positions. The consumer
            looks for new partitions every `topic.metadata.refresh.interval.ms` (default: 1 minute;
            -1: never).
        coordinator: The coordinator, and the alignment group to join. Consumers of one source share
            its splits.
        max_drift: How far a split may be ahead of the slowest one. Default: 5 minutes.
        max_out_of_orderness: How far out of order in event time the records of one split may be, or
            a `WatermarkStrategy` as in Flink. Default: 0.
        idle_timeout: How late a live producer may be. The watermark of a split that is read to its
            end stays this far behind the wall clock. Default: 1 minute.
        event_time: Function that returns the event time of a record in ms since 1970, or None.
            Default: Kafka's timestamp.
        starting_offsets: "committed", "earliest", "latest", a datetime (the first record whose
            Kafka timestamp is not earlier), or a mapping of (topic, partition) to offset, where
            other partitions start at their committed offsets. Unless a datetime is given,
            partitions found later start at their first record.
        ending_offsets: "latest" to stop at the current end of each split. Default: no end.
        partitions: "kafka" to get the splits from Kafka's consumer group, `group.id`. Default: the
            coordinator assigns them; without one, the consumer reads all splits.
        on_assigned: Called with newly assigned splits. It may return the offsets to start at, by
            (topic, partition).
        on_revoked: Called with splits before the consumer gives them back.

    Raises:
        ConfigurationError: An option is invalid; the message names it.

    """

    def __init__(
        self,
        topics: str | Sequence[str],
        *,
        kafka: Mapping[str, Any],
        coordinator: Coordinator | None = None,
        max_drift: Length | None = None,
        max_out_of_orderness: Length | WatermarkStrategy | None = None,
        idle_timeout: Length | None = None,
        event_time: "Callable[[Message], int | None] | None" = None,
        starting_offsets: str | datetime | Mapping[Key, int] = "committed",
        ending_offsets: str | None = None,
        partitions: str | None = None,
        on_assigned: Callable[[Sequence[AssignedSplit]], Mapping[Key, int] | None] | None = None,
        on_revoked: Callable[[Sequence[ReaderSplit]], None] | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name != "self"}
        self._options = Options(**given | {"topics": (topics,) if isinstance(topics, str) else tuple(topics)})
        self._restored: list[KafkaPartitionSplit] = []
        self._reader: RunningReader | None = None
        self._batch: dict[Key, int] = {}  # the first offset of each split in the present batch
        self._stopped: bool | None = None  # with `drain` or without, maybe before the reader was created
        self._closed = False
        self._busy = threading.Lock()
        self._dropped: weakref.finalize[..., AlignedConsumer] | None = None

    def __iter__(self) -> "Iterator[Message]":
        """Iterate over the records until the consumer is stopped or all splits are finished."""
        return chain.from_iterable(self._pieces())

    def _pieces(self) -> "Iterator[Iterator[Message]]":
        reader = self._open()
        while reader.poll() is not None:
            # If the loop is left, the piece stays open until `close`, which handles failures.
            yield reader.begin_piece()
            # No variable refers to the piece, so its records are freed before the next fetch, whose
            # records then get the same memory while it is in the processor's caches.
            reader.end_piece()

    def batches(self, max_records: int = 5_000) -> "Iterator[pa.RecordBatch]":
        """Iterate over Arrow batches of at most `max_records` records. Requires the extra `arrow`.
        The column `timestamp` has the event time, or null if the record has no usable one.
        """
        from lockgate_reader.columns import Columns

        reader = self._open()
        while (piece := reader.poll(max_records)) is not None:
            columns = Columns()
            while piece is not None:
                self._batch.setdefault(piece.split.key, int(piece.messages[0].offset()))
                columns.add(piece)
                piece = None  # freed before the next fetch, as in `_pieces`
                reader.end_piece()
                if columns.rows < max_records:
                    piece = reader.poll(max_records - columns.rows, waits=False)
            batch = columns.batch()
            if reader.lapsed:
                reader.assignment.hand_back(self._batch)
            else:
                yield batch
            self._batch = {}  # the program has processed the batch, or its splits were given back

    async def __aiter__(self) -> "AsyncIterator[Message]":
        """Iterate over the records asynchronously. Waits and callbacks run in worker threads."""
        reader = await asyncio.to_thread(self._alone, self._open)
        while not reader.ended:
            if reader.due:
                await asyncio.to_thread(self._alone, reader.turn)
            if reader.next_piece() is None:
                await asyncio.to_thread(self._alone, reader.wait)
                continue
            for message in reader.begin_piece():
                yield message
            reader.end_piece()

    def snapshot(self) -> tuple[bytes, ...]:
        """Return the splits, from the offset after the last record returned, for `restore`. Each is
        serialized as Flink's `KafkaPartitionSplit`.
        """
        return write_splits(self._started("snapshot").assignment.rests(), KafkaPartitionSplitSerializer())

    def restore(self, state: Sequence[bytes]) -> None:
        """Make the consumer continue from `state`, the result of `snapshot`. Other partitions start
        at the offset or datetime in `starting_offsets`, or at their first record. Raises
        `WrongState` if the consumer is already reading, `ConfigurationError` if another assigns the
        splits, and `UnreadableBytes` if `state` is not a snapshot.
        """
        if self._reader is not None:
            raise WrongState("the consumer is already reading: call restore() before the first record")
        for option, by in (("partitions", "Kafka's group"), ("coordinator", "the coordinator")):
            if getattr(self._options, option):
                said = f"AlignedConsumer({option}): {by} stores positions, so restore() cannot be used"
                raise ConfigurationError(f"{said}; return positions of your own from on_assigned=")
        self._restored = read_splits(state, KafkaPartitionSplitSerializer())

    def positions(self) -> dict[Key, int]:
        """Return the offset after the last record returned, for each (topic, partition)."""
        return self._started("positions").assignment.positions()

    def splits(self) -> list[ReaderSplit]:
        """Return the splits that this consumer owns, each with its fencing token `number`."""
        return self._started("splits").assignment.held()

    def number_of(self, record: "Message") -> int:
        """Return the fencing token under which `record` was returned. Raises `WrongState` if this
        consumer no longer owns the split.
        """
        key = (str(record.topic()), int(record.partition() or 0))
        split = self._started("number_of").assignment.splits.get(key)
        if split is None:
            raise WrongState(f"{key[0]}-{key[1]} is no longer this consumer's: skip the record")
        return split.number

    def send_source_event(self, event: dict[str, Any]) -> None:
        """Send an event to the source's enumerator in the coordinator, whose REST API lists it.
        Raises `InvalidValue` if it is not a JSON object or is larger than 4,096 bytes.
        """
        if self._options.coordinator is None:
            raise ConfigurationError("AlignedConsumer(coordinator): send_source_event() needs a coordinator; set one")
        check_source_event(event)
        place = self._started("send_source_event").place
        if isinstance(place, JoinedPlace):
            place.send_source_event(event)

    def source_events(self) -> list[object]:
        """Return the events that the source's enumerator has sent since the last call."""
        place = self._started("source_events").place
        return place.source_events() if isinstance(place, JoinedPlace) else []

    def commit(self, *, wait: bool = True) -> None:
        """Commit the positions to Kafka. With `wait=False`, return before Kafka answers, and log a
        failure instead of raising `KafkaFailed`.
        """
        if not self._options.kafka.get("group.id"):
            raise ConfigurationError("AlignedConsumer(kafka): commit() needs a group.id; set one")
        self._started("commit").commit(wait=wait)

    @property
    def watermark(self) -> int:
        """Return the lowest watermark (ms) of all splits: MIN at first, MAX at the end."""
        return self._started("watermark").watermark

    def status(self) -> ReaderStatus:
        """Return the consumer's state and what it waits for, without any network request."""
        return status_of(self._reader, closed=self._closed)

    def metrics(self) -> dict[str, float]:
        """Return the consumer's counters and other metrics by name."""
        return metrics_of(self._reader)

    def stop(self, *, drain: bool = False) -> None:
        """End the iteration after the current record. With `drain`, the watermark rises to MAX. Any
        thread or signal handler may call this.
        """
        if self._stopped is None:
            self._stopped = drain
        if self._reader is not None:
            self._reader.stop(drain=drain)

    def close(self) -> None:
        """Stop reading, give the splits back, and commit if automatic commits are enabled. Leaving
        a `with` block does the same, but after an error the current record or batch counts as not
        returned, and nothing is committed.
        """
        self.__exit__(None)

    def __enter__(self) -> "Self":
        self._handle_sigterm(True)
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        failed = kind is not None
        self._handle_sigterm(False)
        if self._dropped is not None:
            self._dropped.detach()
        with self._busy:
            reader, closed, self._closed = self._reader, self._closed, True
            if reader is not None and not closed:
                reader.end_piece(but_one=failed)
                if failed or reader.failure is not None:
                    reader.assignment.go_back(self._batch)
                try:
                    if self._options.commit_interval_ms is not None and not failed:
                        reader.commit(wait=True)
                finally:  # else the splits would be this consumer's for ever
                    reader.close()

    async def __aenter__(self) -> "Self":
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        await asyncio.to_thread(self.__exit__, kind)

    def _handle_sigterm(self, handles: bool) -> None:
        """Install or remove a SIGTERM handler. One that the program has installed is kept."""
        before, after = (signal.SIG_DFL, self._on_sigterm) if handles else (self._on_sigterm, signal.SIG_DFL)
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == before:
            signal.signal(signal.SIGTERM, after)

    def _on_sigterm(self, number: int, frame: object) -> None:
        self.stop()

    def _open(self) -> RunningReader:
        if self._closed:
            raise WrongState("the consumer is closed: create a new one")
        self._batch = {}
        if self._reader is None:
            options = self._options
            self._reader = RunningReader(options, KafkaClient(options.kafka), self._place())
            self._dropped = weakref.finalize(self, _dropped, self._reader.place, options.source)
            self._dropped.atexit = False  # the threads that report end with the process
            if self._stopped is not None:
                self._reader.stop(drain=self._stopped)
            self._reader.open()
        self._reader.end_piece()
        return self._reader

    def _place(self) -> Place:
        options = self._options
        if options.coordinator is not None:
            return JoinedPlace(options.coordinator, options)
        if options.partitions == "kafka":
            return Place()
        return Alone(discovery_ms=0 if options.ending_offsets else options.discovery_ms, known=self._restored)

    def _started(self, what: str) -> RunningReader:
        if self._reader is None:
            raise WrongState(f"the consumer has not begun to read: call {what}() after the first record")
        return self._reader

    def _alone(self, call: Callable[[], Any]) -> Any:
        """Run `call`. A concurrent `close` waits until it has finished."""
        with self._busy:
            return call()


def _dropped(place: Place, name: str) -> None:
    place.abandon()
    said = f"an AlignedConsumer of {name} was dropped without close(): call it, or use `with`"
    warnings.warn(said, ResourceWarning, stacklevel=2)
