"""The switches of the fast parts: each turns off its own part alone, and is documented."""

from dataclasses import asdict
from typing import Any

import httpx
import pytest

from lockgate_coordinator import fast
from lockgate_coordinator.app import create_app
from lockgate_coordinator.fast import lean_reports
from lockgate_coordinator.fast.switches import PARTS, PLAIN, Fast, without
from lockgate_coordinator.fast.whole_answers import WholeAnswers
from lockgate_coordinator.intake import Intake
from lockgate_coordinator.server import _config
from lockgate_coordinator.service.commit_queue import CommitQueue
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import MemoryStore, open_store


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_switched_off_alone(part: str) -> None:
    assert {name for name, on in asdict(without([part])).items() if not on} == {part}


@pytest.mark.parametrize("part", PARTS)
def test_the_room_s_docstring_names_every_part_and_how_to_measure_it(part: str) -> None:
    assert fast.__doc__ is not None
    assert f"    {part} " in fast.__doc__
    assert "make bench-coordinator ARGS=fast" in fast.__doc__


def test_all_parts_are_on_in_service_and_off_in_plain() -> None:
    assert Settings().fast == Fast() == without([])
    assert without(["all"]) == PLAIN
    assert not any(asdict(PLAIN).values())


def test_an_unknown_part_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match=r"lean_reports.*'lean' is not"):
        without(["lean"])


@pytest.mark.parametrize(("parts", "decoded"), [(Fast(), 1), (without(["lean_reports"]), 0)])
async def test_a_service_without_lean_routes_never_uses_their_decoder(
    parts: Fast, decoded: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = list[bytes]()

    def decode(body: bytes) -> Any:
        bodies.append(body)
        return original(body)

    original = lean_reports.report_from_bytes
    monkeypatch.setattr(lean_reports, "report_from_bytes", decode)
    transport = httpx.ASGITransport(create_app(MemoryStore(), Settings(fast=parts)))
    async with httpx.AsyncClient(transport=transport, base_url="http://coordinator") as api:
        epoch = (await api.post("/v1/groups/g/sources/a/readers", json={"subtask": 0})).json()["epoch"]
        report = {"subtask": 0, "epoch": epoch, "watermark": 5}
        assert (await api.post("/v1/groups/g/sources/a/watermarks", json=report)).status_code == 200
    assert len(bodies) == decoded


@pytest.mark.parametrize(("parts", "protocol"), [(Fast(), WholeAnswers), (without(["whole_answers"]), Intake)])
def test_a_server_without_whole_answers_has_the_plain_intake(parts: Fast, protocol: type[Intake]) -> None:
    assert _config(create_app(MemoryStore()), None, parts).http_protocol_class is protocol


@pytest.mark.parametrize("part", ["gathering", "claims"])
def test_a_commit_queue_lacks_the_part_that_is_off(part: str) -> None:
    queue = CommitQueue(MemoryStore(), lambda committed: None, without([part]))
    assert {name for name in ("gathering", "claims") if getattr(queue, f"_{name}") is None} == {part}


@pytest.mark.redis
@pytest.mark.parametrize(("parts", "linked"), [(Fast(), True), (without(["redis_link"]), False)])
async def test_a_store_without_the_link_opens_none(parts: Fast, linked: bool, redis_server: Any) -> None:
    store = open_store(redis_server.url, fast=parts)
    await store.load("g")
    connections = store._connections  # type: ignore[attr-defined]
    assert (connections._link is not None) == linked
    await store.close()
