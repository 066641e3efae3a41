import asyncio
from typing import Any

import httpx
import pytest

from lockgate.watermark import MAX, MIN

GROUP = "/v1/groups/g"


async def epoch_of(api: httpx.AsyncClient, source: str, subtask: int = 0) -> int:
    epoch: int = (await api.post(f"{GROUP}/sources/{source}/readers", json={"subtask": subtask})).json()["epoch"]
    return epoch


async def post(api: httpx.AsyncClient, path: str, body: Any) -> dict[str, Any]:
    response = await api.post(f"{GROUP}{path}", json=body)
    assert response.status_code == 200, response.text
    event: dict[str, Any] = response.json()
    return event


@pytest.mark.parametrize("watermark", [MIN + 1, -1, 2**53 + 1, MAX - 1])
async def test_a_watermark_survives_exactly(api: httpx.AsyncClient, watermark: int) -> None:
    epoch = await epoch_of(api, "a")
    event = await post(api, "/sources/a/watermarks", {"subtask": 0, "epoch": epoch, "watermark": watermark})
    assert event["group_watermark"] == watermark
    assert (await api.get(f"{GROUP}/alignment")).json() == event


async def test_the_answer_to_a_report_takes_it_into_account(api: httpx.AsyncClient) -> None:
    await api.put(GROUP, json={"max_drift_ms": 10})
    a, b = await epoch_of(api, "a"), await epoch_of(api, "b")
    await post(api, "/sources/a/watermarks", {"subtask": 0, "epoch": a, "watermark": 100, "reach": 900})
    event = await post(
        api,
        "/sources/b/watermarks",
        {"subtask": 0, "epoch": b, "watermark": 50, "splits": {"p": {"watermark": 50, "state": "active"}}},
    )
    assert (event["group_watermark"], event["max_desired_watermark"]) == (50, 60)
    assert event["blocked_by"] == [{"source": "b", "subtask": 0, "watermark": 50, "split": "p"}]
    event = await post(api, "/sources/b/watermarks", {"subtask": 0, "epoch": b, "watermark": 50, "reach": 700})
    assert event["max_desired_watermark"] == 700


async def test_no_report_of_many_at_once_is_lost_and_each_answer_counts_its_own(api: httpx.AsyncClient) -> None:
    epochs = [await epoch_of(api, "a", subtask) for subtask in range(30)]

    async def report(subtask: int) -> None:
        event = await post(
            api, "/sources/a/watermarks", {"subtask": subtask, "epoch": epochs[subtask], "watermark": 100 + subtask}
        )
        assert event["group_watermark"] <= 100 + subtask

    await asyncio.gather(*(report(subtask) for subtask in range(30)))
    readers = (await api.get(f"{GROUP}/sources/a")).json()["readers"]
    assert [reader["watermark"] for reader in readers] == list(range(100, 130))


async def test_progress_of_executors_raises_the_watermark_split_by_split(api: httpx.AsyncClient) -> None:
    epoch = await epoch_of(api, "a")
    splits = {name: {"watermark": 5, "state": "active"} for name in ("p-0", "p-1")}
    await post(api, "/sources/a/watermarks", {"subtask": 0, "epoch": epoch, "watermark": 5, "splits": splits})
    task = {"subtask": 0, "epoch": epoch, "batch_id": 1, "attempt": 0}
    event = await post(
        api, "/sources/a/progress", task | {"splits": {"p-0": {"watermark": 50, "position": 9, "rows": 9}}}
    )
    assert event["group_watermark"] == 5
    event = await post(
        api, "/sources/a/progress", task | {"splits": {"p-1": {"watermark": 40, "position": 9, "rows": 9}}}
    )
    assert event["group_watermark"] == 40


async def test_each_report_of_a_batch_is_judged_alone(api: httpx.AsyncClient) -> None:
    epoch = await epoch_of(api, "a")
    good = {"source": "a", "subtask": 0, "epoch": epoch, "watermark": 7}
    answer = await post(
        api, "/watermarks", {"reports": [good | {"epoch": epoch + 1}, good, {"source": "a"}, good | {"source": "b"}]}
    )
    assert answer["alignment"]["group_watermark"] == 7
    rejected = [
        (item["index"], item["status"], item["type"].removeprefix("urn:lockgate:")) for item in answer["rejected"]
    ]
    assert rejected == [(0, 409, "stale-epoch"), (2, 422, "invalid-request"), (3, 404, "unknown-source")]
    assert all(item["detail"] for item in answer["rejected"])


async def test_a_batch_may_have_ten_thousand_reports_and_no_more(api: httpx.AsyncClient) -> None:
    epoch = await epoch_of(api, "a")
    one = {"source": "a", "subtask": 0, "epoch": epoch, "watermark": 7}
    assert (await post(api, "/watermarks", {"reports": [one] * 10_000}))["rejected"] == []
    assert (await api.post(f"{GROUP}/watermarks", json={"reports": [one] * 10_001})).status_code == 422


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b'{"subtask": 0, "epoch": true, "watermark": 1.0}', ["epoch", "watermark"]),
        (b'{"subtask": 0, "epoch": 1, "watermark": 9223372036854775808}', ["watermark"]),
        (b'{"subtask": 0, "epoch": 1, "watermark": NaN}', ["body"]),
        (b"", ["body"]),
        (b"{", ["body"]),
        (b"\xff", ["body"]),
        (b"[" * 100_000, ["body"]),
        (b'{"subtask": ' + b"9" * 5_000 + b"}", ["body"]),
        (b'{"subtask": 0, "epoch": 1, "watermark": 1, "splits": {"\\ud800": {"watermark": 1}}}', ["splits.\ud800"]),
    ],
    ids=lambda value: None if isinstance(value, bytes) else "-".join(value).encode("ascii", "replace").decode(),
)
async def test_a_body_that_breaks_the_protocol_is_refused_by_field(
    api: httpx.AsyncClient, body: bytes, fields: list[str]
) -> None:
    refused = await api.post(f"{GROUP}/sources/a/watermarks", content=body)
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:lockgate:invalid-request")
    assert [fault["field"] for fault in refused.json()["errors"]] == fields


async def test_a_body_over_4_mib_is_too_large_and_one_of_4_mib_is_not(api: httpx.AsyncClient) -> None:
    body = b"{}".ljust(4 * 1024 * 1024)
    assert (await api.post(f"{GROUP}/sources/a/watermarks", content=body)).status_code == 422
    refused = await api.post(f"{GROUP}/sources/a/watermarks", content=body + b" ")
    assert (refused.status_code, refused.json()["type"]) == (413, "urn:lockgate:too-large")


async def test_a_report_to_what_is_unknown_says_what_is(api: httpx.AsyncClient) -> None:
    report = {"subtask": 1, "epoch": 1, "watermark": 1}

    async def kind(source: str) -> str:
        refused = await api.post(f"{GROUP}/sources/{source}/watermarks", json=report)
        assert refused.status_code == 404
        return str(refused.json()["type"]).removeprefix("urn:lockgate:")

    assert await kind("a") == "unknown-group"
    await epoch_of(api, "a")
    assert (await kind("a"), await kind("b")) == ("unknown-reader", "unknown-source")
