"""Exchanges of every kind that a tenant's readers may have, each of as many splits as the limits
allow, one after the other without end. Used by `hostile_tenant`.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.wire.split_codec import split_to_text

SPLITS, READERS = 9_000, 3
CONFIG = {"lease_ms": 10_000, "update_interval_ms": 100}

Ask = Callable[[str, str, bytes], Awaitable[tuple[int, Any]]]
"""Method, path, body; answers the status, and the JSON of a 200 or 201."""


def texts(topic: str, splits: int = SPLITS) -> list[str]:
    return [split_to_text(KafkaPartitionSplit(topic, number, 0)) for number in range(splits)]


class Attack:
    """One source after the other. Its first two readers pass all splits to each other."""

    def __init__(self, ask: Ask, group: str, name: str) -> None:
        self._ask = ask
        self._group, self._source = f"/v1/groups/{group}", name
        self._path = ""
        self._epochs: dict[int, int] = {}
        self._held: dict[int, list[dict[str, Any]]] = {}

    async def run(self) -> None:
        """Goes on for ever."""
        await self._send("PUT", self._group, CONFIG)
        for round in count():
            await self._begin(round % 100)
            await self._pass_on()
            await self._says_too_much(round)
            await self._finish()

    async def _begin(self, round: int) -> None:
        self._path, self._held = f"{self._group}/sources/{self._source}-{round}", {0: [], 1: []}
        for subtask in range(READERS):
            await self._register(subtask)
        answer = await self._exchange(0)
        await asyncio.sleep(answer.get("assigning_in_ms", 0) / 1_000)
        await self._send("PUT", f"{self._path}/splits", {"splits": texts("t")})

    async def _pass_on(self) -> None:
        """All splits go to one reader, while they are on their way to the other one."""
        for giver, taker in ((1, 0), (0, 1), (1, 0)):
            await self._exchange(giver, capacity=0, given_back=self._taken(giver))
            await self._exchange(taker)
            await self._exchange(taker, held=self._held[taker], report=self._report(taker))

    async def _says_too_much(self, round: int) -> None:
        """What others hold, what nobody holds, and what this history has not given out."""
        held, invented = self._held[0], texts(f"invented-{round}")
        higher = [{**each, "assignment": each["assignment"] + 1_000} for each in held]
        for said in (held, higher, [{"split": text, "assignment": 1} for text in invented]):
            await self._exchange(1, held=said)
            await self._exchange(1, given_back=said)
            await self._exchange(1, finished=said)
        await self._exchange(0, held=held, seen=held[0]["assignment"] + 30_000 if held else 1)
        await self._exchange(2, source_events=[{"id": str(round), "event": {"a": "x" * 4_000}}] * 16)
        await self._register(0)
        await self._exchange(0, held=held)
        await self._send("GET", f"{self._path}/splits?limit=1000")

    async def _finish(self) -> None:
        await self._exchange(0, finished=self._taken(0))
        await self._send("DELETE", f"{self._path}/readers/1?epoch={self._epochs[1]}")
        await self._register(1)

    async def _register(self, subtask: int) -> None:
        answer = await self._send("POST", f"{self._path}/readers", {"subtask": subtask, "owner": "evil"})
        self._epochs[subtask] = answer.get("epoch", self._epochs.get(subtask, 1))

    async def _exchange(self, subtask: int, **said: Any) -> Any:
        path = f"{self._path}/readers/{subtask}/splits"
        answer = await self._send("POST", path, {"epoch": self._epochs[subtask], "held": [], **said})
        if answer.get("add_splits") and subtask in self._held:
            self._held[subtask] = answer["add_splits"]
        return answer

    def _taken(self, subtask: int) -> list[dict[str, Any]]:
        held, self._held[subtask] = self._held[subtask], []
        return held

    def _report(self, subtask: int) -> dict[str, Any]:
        splits = {f"t-{number}": {"watermark": number, "state": "active"} for number in range(SPLITS)}
        return {"subtask": subtask, "epoch": self._epochs[subtask], "watermark": 0, "splits": splits}

    async def _send(self, method: str, path: str, body: object = None) -> Any:
        status, answer = await self._ask(method, path, b"" if body is None else json.dumps(body).encode())
        return answer if status in (200, 201) and isinstance(answer, dict) else {}
