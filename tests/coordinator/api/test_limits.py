"""What a request may cost others: how much a body may hold, how much of its faults is told, and how
much a group may hold.
"""

import json
from typing import Any

import httpx
import pytest

from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.wire.codec import FAULTS_COUNTED, FAULTS_LISTED
from lockgate.wire.split_codec import split_to_text
from lockgate_coordinator.api.problems import REJECTED_IN_FULL
from lockgate_coordinator.app import create_app
from lockgate_coordinator.limits import Limits
from lockgate_coordinator.service.commit_queue import COMMANDS_OF_A_TURN
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import MemoryStore, Store
from support.in_process import client_of

GROUP = "/v1/groups/g"
READERS = f"{GROUP}/sources/s/readers"
WATERMARKS = f"{GROUP}/sources/s/watermarks"
SMALL = Limits(splits=3, readers=3, sources=2, groups=2, attributes=20)
VALUES_LIMIT = Limits().report_body.values
SPLIT = {"watermark": 1, "state": "active"}


def client(store: Store, limits: Limits) -> httpx.AsyncClient:
    return client_of(create_app(store, Settings(limits=limits)))


async def registered(api: httpx.AsyncClient, source: str = "s", subtask: int = 0, **more: Any) -> httpx.Response:
    return await api.post(f"{GROUP}/sources/{source}/readers", json={"subtask": subtask, **more})


def refused(answer: httpx.Response) -> tuple[int, str, str, int]:
    problem = answer.json()
    return answer.status_code, problem["type"], problem["limit"], problem["most"]


LIMIT_REACHED = (409, "urn:lockgate:limit-reached")


async def test_answer_to_a_large_body_of_faults_is_small() -> None:
    async with client(MemoryStore(), Limits()) as api:
        long = "x" * 100_000
        for body in (
            {"splits": {f"{n}": {} for n in range(60_000)}},
            {"splits": {f"{n} {long}": {} for n in range(30)}},
            {long: 1, "watermark": [long]},
        ):
            answer = await api.post(WATERMARKS, json={"subtask": 0, "epoch": 1, "watermark": 1, **body})
            assert answer.status_code == 422 or "splits" not in body
            assert len(answer.content) < 16_384
        answer = await api.put(GROUP, json={"expected_sources": [0] * 19_000})
        assert (answer.status_code, len(answer.json()["errors"])) == (422, FAULTS_LISTED)
        assert answer.json()["more_errors"] == FAULTS_COUNTED - FAULTS_LISTED
        assert len(answer.content) < 16_384


@pytest.mark.parametrize(
    "body",
    [
        b'{"subtask":0,"epoch":1,"watermark":1,"splits":{%s}}' % b",".join(b'"%x":{}' % n for n in range(VALUES_LIMIT)),
        b'{"reports":[%s]}' % b",".join([b"{}"] * VALUES_LIMIT),
        b'{"x":%s}' % (b"[" * (VALUES_LIMIT + 1)),
    ],
    ids=["splits", "reports", "depth"],
)
async def test_a_body_of_too_many_values_is_refused_before_it_is_parsed(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json, "loads", lambda text: pytest.fail("parsed"))
    async with client(MemoryStore(), Limits()) as api:
        for path in (WATERMARKS, f"{GROUP}/watermarks"):
            answer = await api.post(path, content=body)
            assert answer.status_code == 413
            assert "200,000 values" in answer.text


async def test_rejected_reports_are_named_and_the_first_told_in_full() -> None:
    async with client(MemoryStore(), Limits()) as api:
        epoch = (await registered(api)).json()["epoch"]
        good = {"source": "s", "subtask": 0, "epoch": epoch, "watermark": 1}
        reports = [{"source": "s"}] * 30 + [good] * 1_500 + [{**good, "epoch": 1}]
        rejected = (await api.post(f"{GROUP}/watermarks", json={"reports": reports})).json()["rejected"]
        assert [one["index"] for one in rejected] == [*range(30), 1_530]
        full, short = rejected[REJECTED_IN_FULL - 1], rejected[REJECTED_IN_FULL]
        assert (len(full["errors"]), full.get("more_errors")) == (3, None)
        assert (len(short["errors"]), short["more_errors"]) == (1, 2)
        assert (rejected[-1]["type"], rejected[-1]["current_epoch"]) == ("urn:lockgate:stale-epoch", epoch)


async def test_too_many_splits_are_refused_in_each_way_to_report() -> None:
    async with client(MemoryStore(), SMALL) as api:
        epoch = (await registered(api)).json()["epoch"]
        report = {"subtask": 0, "epoch": epoch, "watermark": 1}
        four, three = ({f"t-{n}": SPLIT for n in range(count)} for count in (4, 3))
        assert refused(await api.post(WATERMARKS, json={**report, "splits": four})) == (*LIMIT_REACHED, "splits", 3)
        assert (await api.post(WATERMARKS, json={**report, "splits": three})).status_code == 200
        batch = {"reports": [{"source": "s", **report, "splits": splits} for splits in (three, four)]}
        (one,) = (await api.post(f"{GROUP}/watermarks", json=batch)).json()["rejected"]
        assert (one["index"], one["type"], one["most"]) == (1, "urn:lockgate:limit-reached", 3)


async def test_progress_does_not_add_splits_beyond_the_limit() -> None:
    async with client(MemoryStore(), SMALL) as api:
        epoch = (await registered(api)).json()["epoch"]
        splits = {"t-0": SPLIT, "t-1": SPLIT}
        report = {"subtask": 0, "epoch": epoch, "watermark": 1, "splits": splits}
        assert (await api.post(WATERMARKS, json=report)).status_code == 200
        codes = []
        for n in range(2, 6):
            done = {"subtask": 0, "epoch": epoch, "batch_id": 0, "attempt": 0}
            progress = {**done, "splits": {f"t-{n}": {"watermark": 1, "position": 1, "rows": 1}}}
            codes.append((await api.post(f"{GROUP}/sources/s/progress", json=progress)).status_code)
        assert codes == [200, 409, 409, 409]


async def test_progress_of_many_splits_is_taken_in_parts_or_refused_whole() -> None:
    limits, named = Limits(splits=3 * COMMANDS_OF_A_TURN), {"watermark": 1, "position": 1, "rows": 1}
    async with client(MemoryStore(), limits) as api:
        epoch = (await registered(api)).json()["epoch"]
        report = {"subtask": 0, "epoch": epoch, "watermark": 0, "splits": {"t-0": {**SPLIT, "watermark": 0}}}
        assert (await api.post(WATERMARKS, json=report)).status_code == 200
        done = {"subtask": 0, "epoch": epoch, "batch_id": 0, "attempt": 0}

        async def seen() -> dict[str, Any]:
            reader = (await api.get(f"{GROUP}/sources/s")).json()["readers"][0]
            return {name: split["position"] for name, split in reader["splits"].items()}

        too_many = {**done, "splits": {f"n-{n}": named for n in range(limits.splits)}}
        answer = await api.post(f"{GROUP}/sources/s/progress", json=too_many)
        assert refused(answer) == (*LIMIT_REACHED, "splits", limits.splits)
        assert await seen() == {"t-0": None}
        many = {**done, "splits": {f"t-{n}": named for n in range(limits.splits)}}
        before = committed(api)
        answer = await api.post(f"{GROUP}/sources/s/progress", json=many)
        assert (answer.status_code, answer.json()["group_watermark"]) == (200, 1)
        assert await seen() == dict.fromkeys(many["splits"], 1)
        assert committed(api) - before >= 3


def committed(api: httpx.AsyncClient) -> int:
    transport: Any = api._transport
    return int(transport.app.state.coordinator.queue.commits)


async def test_group_takes_so_many_readers_and_sources() -> None:
    async with client(MemoryStore(), SMALL) as api:
        assert [(await registered(api, subtask=n)).status_code for n in range(2)] == [201, 201]
        assert (await registered(api, "other")).status_code == 201
        assert refused(await registered(api, subtask=2)) == (*LIMIT_REACHED, "readers", 3)
        assert (await registered(api, subtask=0)).status_code == 201
        assert (await api.delete(f"{READERS}/1?force=true")).status_code == 204
        assert refused(await registered(api, "third")) == (*LIMIT_REACHED, "sources", 2)
        split = split_to_text(KafkaPartitionSplit("orders", 0))
        lists = [await api.put(f"{GROUP}/sources/{name}/splits", json={"splits": [split]}) for name in "aba"]
        assert [answer.status_code for answer in lists] == [200] * 3
        more = await api.put(f"{GROUP}/sources/c/splits", json={"splits": [split]})
        assert refused(more) == (*LIMIT_REACHED, "sources with splits", 2)
        assert (await registered(api, "other", 1)).status_code == 201


async def test_a_configuration_expects_so_many_sources_whoever_brings_it() -> None:
    async with client(MemoryStore(), SMALL) as api:
        config = {"expected_sources": ["a", "b", "c"]}
        assert refused(await api.put(GROUP, json=config)) == (*LIMIT_REACHED, "sources", 2)
        assert refused(await registered(api, config=config)) == (*LIMIT_REACHED, "sources", 2)
        assert (await api.get(GROUP)).status_code == 404


async def test_a_reader_says_so_much_of_itself() -> None:
    async with client(MemoryStore(), SMALL) as api:
        for too_much in ({"owner": "x" * 21}, {"attributes": {"x" * 11: "ü" * 5}}):
            assert refused(await registered(api, **too_much)) == (
                *LIMIT_REACHED,
                "bytes of owner and attributes",
                20,
            )
        assert (await registered(api, owner="x" * 10, attributes={"x" * 5: "y" * 5})).status_code == 201


async def test_a_store_takes_so_many_groups_however_they_are_made(store: Store) -> None:
    async with client(store, SMALL) as api:
        assert (await api.put("/v1/groups/a", json={})).status_code == 201
        assert (await api.post("/v1/groups/b/sources/s/readers", json={"subtask": 0})).status_code == 201
        for answer in (
            await api.put("/v1/groups/c", json={}),
            await api.post("/v1/groups/c/sources/s/readers", json={"subtask": 0}),
        ):
            assert refused(answer) == (*LIMIT_REACHED, "groups", 2)
        assert (await api.put("/v1/groups/a", json={"max_drift_ms": 1})).status_code == 200
        assert (await api.delete("/v1/groups/b")).status_code == 204
        assert (await api.put("/v1/groups/c", json={})).status_code == 201
