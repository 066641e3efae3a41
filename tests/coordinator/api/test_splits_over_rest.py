"""Splits over REST: exchanges of readers, lists, SourceEvents, and who reads what."""

import time
from typing import Any

import httpx

from lockgate.flink.splits import EARLIEST_OFFSET, KafkaPartitionSplit
from lockgate.wire.split_codec import split_from_text, split_to_text

GROUP = "/v1/groups/g"
SOURCE = f"{GROUP}/sources/enricher"
CONFIG = {"update_interval_ms": 10, "lease_ms": 60_000}


def as_text(partition: int, offset: int = EARLIEST_OFFSET) -> str:
    return split_to_text(KafkaPartitionSplit("orders", partition, offset))


class Reader:
    """One reader that obeys. `held`: text and number of each split, by id."""

    def __init__(self, api: httpx.AsyncClient, subtask: int, epoch: int) -> None:
        self.api, self.subtask, self.epoch = api, subtask, epoch
        self.held: dict[str, dict[str, Any]] = {}
        self.returned: list[dict[str, Any]] = []
        self.answer: dict[str, Any] = {}

    async def says(self, **more: Any) -> httpx.Response:
        """Return the bare exchange."""
        body = {"epoch": self.epoch, "held": list(self.held.values()), "given_back": self.returned, **more}
        return await self.api.post(f"{SOURCE}/readers/{self.subtask}/splits", json=body)

    async def exchange(self, **more: Any) -> dict[str, Any]:
        if self.answer.get("discover"):
            splits = [as_text(number) for number in range(4)]
            more.setdefault("discovered", {"request": self.answer["discover"], "splits": splits})
        answer = await self.says(**{"discovery_interval_ms": 60_000, **more})
        assert answer.status_code == 200, answer.text
        self.answer = answer.json()
        self.returned = []
        for stopped in self.answer["stop"]:
            self.held.pop(stopped["split"], None)
        for added in self.answer["add_splits"]:
            self.held[split_from_text(added["split"]).split_id] = added
        self.returned = [self.held.pop(id) for id in self.answer["give_back"] if id in self.held]
        return self.answer


async def joined(api: httpx.AsyncClient, subtask: int) -> Reader:
    answer = await api.post(f"{SOURCE}/readers", json={"subtask": subtask, "config": CONFIG})
    return Reader(api, subtask, answer.json()["epoch"])


async def settled(api: httpx.AsyncClient, readers: int) -> list[Reader]:
    """Readers that have exchanged until each of the four splits has one."""
    found = [await joined(api, subtask) for subtask in range(readers)]
    for _ in range(2_000):
        for reader in found:
            await reader.exchange()
        if sum(len(reader.held) for reader in found) == 4:
            return found
    raise AssertionError(found[0].answer)


async def test_two_readers_share_what_one_of_them_was_asked_to_list(api: httpx.AsyncClient) -> None:
    first, second = await settled(api, 2)

    assert [len(reader.held) for reader in (first, second)] == [2, 2]
    assert first.held.keys() | second.held.keys() == {f"orders-{number}" for number in range(4)}
    assert first.answer["alignment"]["group"] == "g"
    assert (first.answer["lease_ms"], first.answer["update_interval_ms"]) == (60_000, 10)
    counts = {"assigned": 4, "revoking": 0, "unassigned": 0, "missing": 0, "finished": 0}
    assert (await api.get(GROUP)).json()["enumerators"] == {"enricher": counts}
    text = (await api.get("/metrics")).text
    assert 'lockgate_source_assigned_splits{group="g",source="enricher",state="assigned"} 4.0' in text
    assert "lockgate_split_exchanges_total" in text


async def test_lost_reader_holds_its_group_until_others_have_its_splits(
    api: httpx.AsyncClient,
) -> None:
    first, second = await settled(api, 2)
    await api.put(GROUP, json={**CONFIG, "on_lost_reader": "hold", "lease_ms": 200, "catch_up": "strict"})
    for reader, watermark in ((second, 10), (first, 50)):
        report = {"subtask": reader.subtask, "epoch": reader.epoch, "watermark": watermark}
        await reader.exchange(report=report)
    ends = time.monotonic() + 60
    while (answer := await first.exchange(report=report))["alignment"]["group_watermark"] < 50:
        assert answer["alignment"]["group_watermark"] == 10
        assert time.monotonic() < ends
    assert len(first.held) == 4
    readers = (await api.get(SOURCE)).json()["readers"]
    assert [reader["subtask"] for reader in readers] == [0]


async def test_split_on_its_way_holds_the_group_where_it_stood(api: httpx.AsyncClient) -> None:
    (only,) = await settled(api, 1)
    await api.put(GROUP, json={**CONFIG, "catch_up": "strict"})
    splits = {id: {"watermark": 10 if id == "orders-3" else 500, "state": "active"} for id in only.held}
    await only.exchange(report={"subtask": 0, "epoch": only.epoch, "watermark": 10, "splits": splits})
    new = await joined(api, 1)
    await new.exchange()
    await only.exchange()
    await only.exchange()
    del splits["orders-2"], splits["orders-3"]
    answer = await only.exchange(report={"subtask": 0, "epoch": only.epoch, "watermark": 500, "splits": splits})

    (holder,) = answer["alignment"]["blocked_by"]
    assert answer["alignment"]["group_watermark"] == 10
    assert (holder["subtask"], holder["split"]) == (1, "orders-3")
    readers = (await api.get(SOURCE)).json()["readers"]
    assert [reader["watermark"] for reader in readers] == [500, 10]
    assert readers[0]["arriving"] is None
    assert (readers[1]["arriving"]["split"], readers[1]["arriving"]["watermark"]) == ("orders-3", 10)
    await new.exchange()
    shown = {id: {"watermark": 600, "state": "active"} for id in new.held}
    await new.exchange(report={"subtask": 1, "epoch": new.epoch, "watermark": 600, "splits": shown})
    assert (await only.exchange())["alignment"]["group_watermark"] == 500


async def test_source_events_go_both_ways(api: httpx.AsyncClient) -> None:
    (reader,) = await settled(api, 1)
    for _ in range(2):
        sent = await api.post(f"{SOURCE}/events", json={"event": {"reload": True}, "id": "once"})
    answer = await reader.exchange(source_events=[{"id": "x", "event": {"ready": 1}}])
    assert answer["source_events"] == [{"number": sent.json()["number"], "event": {"reload": True}}]
    assert (await reader.exchange(source_events_seen=sent.json()["number"]))["source_events"] == []
    (received,) = (await api.get(f"{SOURCE}/splits")).json()["enumerator"]["source_events"]
    assert (received["id"], received["subtask"], received["event"]) == ("x", 0, {"ready": 1})


async def test_a_source_event_with_a_number_that_json_has_not_is_refused(api: httpx.AsyncClient) -> None:
    (reader,) = await settled(api, 1)
    json = {"content-type": "application/json"}
    answer = await api.post(f"{SOURCE}/events", content='{"event": {"n": 1e400}}', headers=json)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:lockgate:invalid-request")
    assert (await reader.exchange())["source_events"] == []


async def test_readers_present_what_they_hold_to_a_group_that_was_forgotten(api: httpx.AsyncClient) -> None:
    (reader,) = await settled(api, 1)
    held = dict(reader.held)
    await api.delete(GROUP)
    assert (await reader.says()).json()["type"] == "urn:lockgate:unknown-group"
    again = await joined(api, 0)
    again.held = held
    answer = await again.exchange(seen=reader.answer["revision"])

    assert again.held == held
    assert answer["assigning_in_ms"] > 50_000
