"""Splits over REST: exchanges of readers, lists, SourceEvents, and who reads what."""

import time
from typing import Any

import httpx
import pytest

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


async def test_a_new_reader_gets_a_split_at_the_position_at_which_it_was_given_back(api: httpx.AsyncClient) -> None:
    (only,) = await settled(api, 1)
    new = await joined(api, 1)
    await new.exchange()
    await only.exchange()
    assert [split_from_text(each["split"]).split_id for each in only.returned] == ["orders-2", "orders-3"]
    for each in only.returned:
        each["split"] = as_text(split_from_text(each["split"]).partition, 77)
    await only.exchange()
    await new.exchange()

    assert {id: split_from_text(each["split"]).starting_offset for id, each in new.held.items()} == {
        "orders-2": 77,
        "orders-3": 77,
    }


async def test_a_reader_that_deletes_itself_leaves_its_splits_to_the_others_at_once(api: httpx.AsyncClient) -> None:
    first, second = await settled(api, 2)
    await api.delete(f"{SOURCE}/readers/1?epoch={second.epoch}")
    await first.exchange()

    assert len(first.held) == 4


async def test_a_lost_reader_holds_its_group_until_others_have_its_splits_and_then_leaves(
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


async def test_a_split_on_its_way_to_another_reader_holds_the_group_where_it_stood(api: httpx.AsyncClient) -> None:
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


async def test_a_split_of_a_reader_that_deletes_itself_holds_the_group_until_another_one_has_read_of_it(
    api: httpx.AsyncClient,
) -> None:
    first, second = await settled(api, 2)
    for reader, watermark in ((first, 500), (second, 10)):
        splits = {id: {"watermark": watermark, "state": "active"} for id in reader.held}
        report = {"subtask": reader.subtask, "epoch": reader.epoch, "watermark": watermark, "splits": splits}
        await reader.exchange(report=report)
    await api.delete(f"{SOURCE}/readers/1?epoch={second.epoch}")
    assert (await first.exchange())["alignment"]["group_watermark"] == 10
    assert (await first.exchange())["alignment"]["group_watermark"] == 10
    both = {id: {"watermark": 700, "state": "active"} for id in first.held}
    report = {"subtask": 0, "epoch": first.epoch, "watermark": 700, "splits": both}
    await first.exchange(report=report)
    assert (await first.exchange(report=report))["alignment"]["group_watermark"] == 700


async def test_an_older_epoch_and_readers_that_are_not_there_are_refused(api: httpx.AsyncClient) -> None:
    (old,) = await settled(api, 1)
    await joined(api, 0)
    stale = await old.says()
    unknown = await Reader(api, 7, old.epoch).says()

    assert (stale.status_code, stale.json()["type"]) == (409, "urn:lockgate:stale-epoch")
    assert (unknown.status_code, unknown.json()["type"]) == (404, "urn:lockgate:unknown-reader")


async def test_a_report_in_an_exchange_moves_the_watermark_and_one_without_renews_the_lease_alone(
    api: httpx.AsyncClient,
) -> None:
    (reader,) = await settled(api, 1)
    report = {"subtask": 0, "epoch": reader.epoch, "watermark": 42}
    answer = await reader.exchange(report=report)
    assert answer["alignment"]["group_watermark"] == 42
    assert (await reader.exchange())["alignment"]["group_watermark"] == 42


async def test_an_operators_list_is_assigned_and_ends_with_no_more_splits(api: httpx.AsyncClient) -> None:
    await api.put(GROUP, json=CONFIG)
    listed = await api.put(f"{SOURCE}/splits", json={"splits": [as_text(0, 5), as_text(1)], "bounded": True})
    assert listed.json() | {"revision": 0} == {
        "group": "g",
        "source": "enricher",
        "revision": 0,
        "splits": 2,
        "new": 2,
        "missing": 0,
    }
    reader = await joined(api, 0)
    for _ in range(2_000):
        answer = await reader.exchange()
        assert not answer["discover"]
        if reader.held:
            break
    assert answer["no_more_splits"]
    await reader.exchange(held=[], finished=list(reader.held.values()))
    states = [each["state"] for each in (await api.get(f"{SOURCE}/splits")).json()["items"]]
    assert states == ["finished", "finished"]


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


async def test_inspection_shows_who_reads_what_and_where_it_stands_page_by_page(api: httpx.AsyncClient) -> None:
    (reader,) = await settled(api, 1)
    reader.held["orders-0"]["split"] = as_text(0, 99)
    await reader.exchange()
    page = (await api.get(f"{SOURCE}/splits", params={"limit": 1})).json()
    (item,) = page["items"]
    assert (item["split"], item["position"], item["state"], item["subtask"]) == ("orders-0", 99, "assigned", 0)
    assert (page["next"], page["enumerator"]["assigned"], page["readers"][0]["splits"]) == ("orders-0", 4, 4)
    rest = (await api.get(f"{SOURCE}/splits", params={"after": page["next"]})).json()
    assert [(each["split"], each["position"]) for each in rest["items"]] == [
        (f"orders-{number}", "earliest") for number in (1, 2, 3)
    ]
    assert rest["next"] is None


async def test_a_source_without_an_enumerator_and_a_group_that_is_not_there_are_named(api: httpx.AsyncClient) -> None:
    for method, path, body in (
        ("GET", f"{SOURCE}/splits", None),
        ("POST", f"{SOURCE}/events", {"event": {}}),
        ("PUT", f"{SOURCE}/splits", {"splits": []}),
        ("POST", f"{SOURCE}/readers/0/splits", {"epoch": 1, "held": []}),
        ("GET", f"{SOURCE}/readers/0/events?epoch=1", None),
    ):
        answer = await api.request(method, path, json=body)
        assert (answer.status_code, answer.json()["type"]) == (404, "urn:lockgate:unknown-group"), path
    await api.put(GROUP, json=CONFIG)
    for method, path, body in (("GET", f"{SOURCE}/splits", None), ("POST", f"{SOURCE}/events", {"event": {}})):
        answer = await api.request(method, path, json=body)
        assert (answer.status_code, answer.json()["type"]) == (404, "urn:lockgate:unknown-source"), path


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


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"held": [{"split": "AAAA", "assignment": 1}]}, "held[0].split"),
        ({"held": [{"split": as_text(0), "assignment": 0}]}, "held[0].assignment"),
        ({"discovered": {"splits": [as_text(9)]}}, "discovered.request"),
    ],
)
async def test_a_body_that_is_no_exchange_is_refused_and_changes_nothing(
    api: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    (reader,) = await settled(api, 1)
    refused = await reader.says(**body)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field)
    assert (await api.get(f"{SOURCE}/splits")).json()["enumerator"]["assigned"] == 4


async def test_metrics_count_the_splits_by_state_and_the_exchanges(api: httpx.AsyncClient) -> None:
    await settled(api, 1)
    text = (await api.get("/metrics")).text

    assert 'lockgate_source_assigned_splits{group="g",source="enricher",state="assigned"} 4.0' in text
    assert "lockgate_split_exchanges_total" in text


async def test_a_group_says_how_the_splits_of_its_sources_are_assigned(api: httpx.AsyncClient) -> None:
    await settled(api, 1)
    counts = (await api.get(GROUP)).json()["enumerators"]

    assert counts == {"enricher": {"assigned": 4, "revoking": 0, "unassigned": 0, "missing": 0, "finished": 0}}
