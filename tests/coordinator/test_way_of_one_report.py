"""The way of one report, from its socket to the answer of a waiting long poll, leads through the
files that docs/internals/architecture.md lists.
"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

import lockgate
import lockgate_coordinator
from lockgate_coordinator.app import create_app
from lockgate_coordinator.server import _config, listen
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import MemoryStore

PAGE = Path(__file__).parents[2] / "docs/internals/architecture.md"
ROOTS = [Path(str(package.__file__)).parent for package in (lockgate, lockgate_coordinator)]
TOKEN = "open-sesame-to-report"
STATIONS = 9


class Trace:
    """The files of lockgate in the order in which their functions are first called."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        for root in ROOTS if event == "call" else ():
            if frame.f_code.co_filename.startswith(f"{root}/"):
                self.files.setdefault(Path(frame.f_code.co_filename).relative_to(root).as_posix())


@asynccontextmanager
async def served() -> AsyncIterator[int]:
    """A coordinator in this thread, as `lockgate serve` runs it. Yields its port."""
    app, listening = create_app(MemoryStore(), Settings(tokens=f"report={TOKEN}")), listen("127.0.0.1", 0)
    server = uvicorn.Server(_config(app, None))
    running = asyncio.create_task(server._serve([listening]))  # without signal handlers
    while not server.started:
        await asyncio.sleep(0.01)
    yield listening.getsockname()[1]
    server.should_exit = True
    await running


async def request(port: int, line: str, body: Any = None) -> Any:
    """Send one request from this thread, and return the answer's JSON."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    text = b"" if body is None else json.dumps(body).encode()
    fields = f"host: c\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\ncontent-length: {len(text)}"
    writer.write(f"{line} HTTP/1.1\r\n{fields}\r\n\r\n".encode() + text)
    answer = await reader.read()
    writer.close()
    return json.loads(answer.partition(b"\r\n\r\n")[2])


async def traced() -> list[str]:
    """Trace a report that moves the ceiling, while another reader waits for that."""
    async with served() as port:
        epoch = (await request(port, "POST /v1/groups/g/sources/a/readers", {"subtask": 0}))["epoch"]
        report = {"subtask": 0, "epoch": epoch, "watermark": 1_000}
        revision = (await request(port, "POST /v1/groups/g/sources/a/watermarks", report))["revision"]
        for watermark in (2_000, 3_000):  # what is done once only is not on the way of the second
            poll = asyncio.create_task(request(port, f"GET /v1/groups/g/alignment?after={revision}&wait_ms=60000"))
            await asyncio.sleep(0.2)
            trace = Trace()
            sys.setprofile(trace)
            try:
                await request(port, "POST /v1/groups/g/sources/a/watermarks", {**report, "watermark": watermark})
                revision = (await poll)["revision"]
            finally:
                sys.setprofile(None)
    return list(trace.files)


def listed() -> tuple[list[str], set[str]]:
    """The stations of the page's list, and the files of the modules that they call."""
    section = PAGE.read_text().partition("## The way of one report\n")[2].partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| \d+ \| \[[^\]]*\]\([^)]*/src/lockgate(?:_coordinator)?/([^)]*)\) \|(.*)\|$", section)
    return [station for station, _ in rows], {
        module.replace(".", "/") + ".py" for _, rest in rows for module in re.findall(r"`([\w.]+)`", rest)
    }


async def test_way_of_one_report_is_the_one_on_the_architecture_page() -> None:
    files, (stations, called) = await traced(), listed()
    assert [file for file in files if file in stations] == stations
    assert set(files) - set(stations) == called
    assert len(stations) == STATIONS
