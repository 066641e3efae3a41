"""What a stream sends while nothing happens."""

import asyncio

import httpx
import pytest

from lockgate_coordinator.app import create_app
from lockgate_coordinator.service import announcer
from lockgate_coordinator.store import MemoryStore
from lockgate_coordinator.store.connections import TIMEOUT_S

PROMISED_S = 15


async def test_a_silent_stream_sends_a_comment_line_at_each_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcer, "HEARTBEAT_S", 0.01)
    app, sent, enough = create_app(MemoryStore()), list[bytes](), asyncio.Event()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://coordinator") as http:
        await http.put("/v1/groups/g", json={})

    async def receive() -> dict[str, str]:
        await enough.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, bytes]) -> None:
        sent.append(message.get("body", b""))
        if len(sent) == 5:
            enough.set()

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/v1/groups/g/alignment/events",
        "query_string": b"",
        "headers": [],
    }
    # ASGI's own types are wider
    await asyncio.wait_for(app(scope, receive, send), 20)  # type: ignore[arg-type]
    head, event, *beats = sent[:5]
    assert (head, event.partition(b"\n")[0]) == (b"", b"event: alignment")
    assert [beat[:1] + beat[-2:] for beat in beats] == [b":\n\n"] * 3
    assert not any(line for beat in beats for line in beat.splitlines() if line and not line.startswith(b":"))


def test_heartbeats_are_as_often_as_promised_even_where_the_store_lets_itself_be_waited_for() -> None:
    assert announcer.HEARTBEAT_S + announcer.LOOK_AGAIN_S + TIMEOUT_S < PROMISED_S
