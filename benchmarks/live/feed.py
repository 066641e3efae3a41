"""Live producers of one topic: history first, then each record at its moment, and an account of all
that was appended.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaException, Producer

from benchmarks.live.shapes import Shape
from lockgate_testbed import topics

ROUND_S = 0.01


class Feed:
    """`written[partition]` are `(made, stamp)` of its records by offset; from
    `live_from[partition]` on they were made at that moment.
    """

    def __init__(self, bootstrap: str, topic: str, shape: Shape, payload: bool) -> None:
        self.topic, self.shape = topic, shape
        self.written: list[list[tuple[int, int]]] = [[] for _ in shape.producers]
        self.live_from: list[int] = []
        self._payload, self._failed = payload, threading.Event()
        # One connection and in order: offsets are what the account goes by.
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "linger.ms": 0, "enable.idempotence": True, **topics.QUIET}
        )
        self._ended = threading.Event()
        topics.create(bootstrap, topic, len(shape.producers))
        self._start_ms = now_ms()
        for partition in range(len(shape.producers)):
            for made, stamp in shape.history(partition, self._start_ms):
                self._append(partition, made, stamp)
        self._producer.flush()
        self.live_from = [len(records) for records in self.written]

    @contextmanager
    def running(self) -> Iterator["Feed"]:
        """Append until the end of the `with`. Raises `KafkaException` if something was not
        appended.
        """
        thread = threading.Thread(target=self._run, name=f"feed of {self.topic}", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            thread.join()
        if self._failed.is_set() or self._producer.flush(30):
            raise KafkaException(f"not all records of {self.topic} were appended")

    def _run(self) -> None:
        until = self._start_ms
        while not self._ended.wait(ROUND_S):
            since, until = until, now_ms()
            for partition in range(len(self.shape.producers)):
                for made, stamp in self.shape.live(partition, since, until):
                    self._append(
                        partition, until, stamp + until - made
                    )  # as far behind as it is to be, and honest on a busy machine
            self._producer.poll(0)

    def _append(self, partition: int, made: int, stamp: int) -> None:
        value, timestamp = f"{stamp},{made}".encode(), made if self._payload else stamp
        while True:
            try:
                self._producer.produce(
                    self.topic, value, None, partition, timestamp=timestamp, on_delivery=self._delivered
                )
                break
            except BufferError:
                self._producer.poll(0.05)
        self.written[partition].append((made, stamp))

    def _delivered(self, error: object, _: object) -> None:
        if error is not None:
            self._failed.set()


def now_ms() -> int:
    """Wall clock."""
    return time.time_ns() // 1_000_000
