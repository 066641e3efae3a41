"""A subscriber that takes nothing at all, over a real socket and in this process, so that the
minute is a moment.
"""

import asyncio
import socket

import pytest
from anyio import fail_after

from lockgate.wire.events import GroupConfig
from lockgate_coordinator import server
from lockgate_coordinator.app import create_app
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store import MemoryStore


async def test_a_client_that_takes_nothing_for_too_long_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "STUCK_MS", 200)
    monkeypatch.setattr(server, "SEND_BUFFER", 4_096)
    app = create_app(MemoryStore())
    coordinator: Coordinator = app.state.coordinator
    listening = server.listen("127.0.0.1", 0)
    running = server._Server(server._config(app, None), [])
    serving = asyncio.create_task(running.serve(sockets=[listening]))
    with fail_after(60), socket.socket() as stuck:
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        stuck.setblocking(False)
        await changed(coordinator, 0)
        await asyncio.get_running_loop().sock_connect(stuck, listening.getsockname())
        stuck.sendall(b"GET /v1/groups/g/alignment/events HTTP/1.1\r\nHost: c\r\n\r\n")
        while not coordinator.announcer.watchers:
            await asyncio.sleep(0)
        changes = 0
        while coordinator.announcer.watchers:
            changes += 1
            await changed(coordinator, changes)
    running.should_exit = True
    await serving


async def changed(coordinator: Coordinator, number: int) -> None:
    """Another event: a group that expects nobody has another ceiling than one that does."""
    await coordinator.configure("g", GroupConfig(expected_sources=("a",) if number % 2 else ()))
