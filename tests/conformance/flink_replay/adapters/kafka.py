"""Kafka's split, its state and its bytes."""

from typing import Any

from flink_replay.adapters.base import Adapter, Event
from lockgate.flink.split_serializer import KafkaPartitionSplitSerializer
from lockgate.flink.splits import KafkaPartitionSplit, KafkaPartitionSplitState
from lockgate.watermark import MIN


class KafkaSplitAdapter(Adapter):
    def __init__(self, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.held: dict[str, KafkaPartitionSplit | KafkaPartitionSplitState] = {}
        self.serializer = KafkaPartitionSplitSerializer()

    def do_split(self, handle: str, topic: str | None, partition: int, start: int, stop: int | None) -> None:
        self._hold(handle, KafkaPartitionSplit.as_flink(topic, partition, start, MIN if stop is None else stop))

    def do_state(self, handle: str, **source: str) -> None:
        split = self.held[source["from"]]
        assert isinstance(split, KafkaPartitionSplit)
        self._hold(handle, KafkaPartitionSplitState(split))

    def do_set_current_offset(self, handle: str, offset: int) -> None:
        self._state(handle).current_offset = offset
        self._hold(handle, self.held[handle])

    def do_to_split(self, handle: str, **source: str) -> None:
        self._hold(handle, self._state(source["from"]).to_split())

    def do_equals(self, a: str, b: str) -> None:
        one, other = self.held[a], self.held[b]
        self.events.append({"return": one == other, "hash_equal": hash(one) == hash(other)})

    def do_serialize(self, handle: str) -> None:
        split = self.held[handle]
        # Flink's state *is* a split, by inheritance: its bytes are those of the split it came from.
        split = split.split if isinstance(split, KafkaPartitionSplitState) else split
        self.events.append({"hex": self.serializer.serialize(split).hex(), "version": self.serializer.version})

    def do_deserialize(self, handle: str, version: int, hex: str) -> None:
        self._hold(handle, self.serializer.deserialize(version, bytes.fromhex(hex)))

    def _state(self, handle: str) -> KafkaPartitionSplitState:
        state = self.held[handle]
        assert isinstance(state, KafkaPartitionSplitState)
        return state

    def _hold(self, handle: str, held: KafkaPartitionSplit | KafkaPartitionSplitState) -> None:
        self.held[handle] = held
        self.events.append(_described(held))


def _described(held: KafkaPartitionSplit | KafkaPartitionSplitState) -> Event:
    split = held.split if isinstance(held, KafkaPartitionSplitState) else held
    described = {
        "class": type(held).__name__,
        "topic": split.topic,
        "partition": split.partition,
        "split_id": split.split_id.replace("None-", "null-") if split.topic is None else split.split_id,
        "starting_offset": split.starting_offset,
        "stopping_offset": split.stopping_offset,
        "is_migrated": split.is_migrated,
    }
    return described | ({"current_offset": held.current_offset} if isinstance(held, KafkaPartitionSplitState) else {})
