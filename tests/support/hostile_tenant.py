"""A tenant that does everything its token may, as often as it may: `python -m
support.hostile_tenant URL TOKEN ATTACK` until its standard input ends. Then it prints how many
answers of each status it got, as JSON.

It is a process of its own, so that its work does not delay those who measure.
"""

import asyncio
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from lockgate.wire.events import BATCH_LIMIT
from lockgate_coordinator.limits import BodyLimit, Limits
from support.hostile_exchanges import Attack

CALLERS = 4
"""How many requests an attack has under way at once."""
MEBIBYTE = 1 << 20
FULL, OTHER = Limits().report_body, Limits().other_body
"""How large a body may be."""
OPEN_AT_ONCE = 100
"""Streams, long polls and unfinished bodies that it tries to keep open."""
VICTIM, OWN = "checkout", "evil"

Request = tuple[str, str, bytes]
"""Method, path, body."""


def filled(first: str, item: str, last: str, limit: BodyLimit) -> bytes:
    """JSON of as many items as the limit of bytes or of values allows."""
    marks = sum(item.count(mark) for mark in ",{[")
    most = (limit.size - len(first) - len(last)) // len(item)
    return (first + item * min(most, (limit.values - 9) // marks if marks else most) + last).encode()


@cache
def full_bodies() -> list[Request]:
    """Made once, since that takes seconds."""
    head = '{"subtask":0,"epoch":1,"watermark":0,"splits":{'
    splits = ",".join(f'"{n:x}":{{"watermark":{n},"state":"active"}}' for n in range(49_000))
    long = ",".join(f'"{n:0>240}":{{"watermark":{n},"state":"active","position":{n},"end":{n}}}' for n in range(9_999))
    faulty = '{"reports":[' + ",".join(['{"a":1,"splits":{"":{},"b":{},"c":4}}'] * BATCH_LIMIT) + "]}"
    report, group = f"/v1/groups/{OWN}/sources/a/watermarks", f"/v1/groups/{OWN}"
    readers = f"/v1/groups/{OWN}/sources/a/readers"
    return [
        ("POST", report, filled(head, '"x":{},', '"x":{}}}', FULL)),
        ("POST", report, (head + splits + "}}").encode()),
        ("POST", report, (head + long + "}}").encode()),
        ("POST", report, filled('{"x":[', "1.2345678901234567e-300,", "0]}", FULL)),
        ("PUT", group, filled('{"expected_sources":[', "0,", "0]}", OTHER)),
        ("PUT", group, filled('{"expected_sources":["a"', ',"abcdefgh"', "]}", OTHER)),
        ("POST", readers, filled('{"subtask":0,"attributes":{"a":"', "a", '"}}', OTHER)),
        ("POST", readers, filled('{"subtask":0,"owner":"', "\\n", '"}', OTHER)),
        ("POST", f"{group}/watermarks", filled('{"reports":[', "{},", "{}]}", FULL)),
        ("POST", f"{group}/watermarks", faulty.encode()),
        ("POST", f"{group}/watermarks", filled("", " ", "{}", FULL)),
        ("POST", f"{group}/watermarks", b" " * (FULL.size + 1)),
    ]


def huge_bodies() -> Iterator[Request]:
    """As many faults, names, attributes, reports and blanks as a body may have, and one more."""
    while True:
        yield from full_bodies()


def deep_json() -> Iterator[Request]:
    """Brackets within brackets, in every place of a body."""
    while True:
        yield "PUT", f"/v1/groups/{OWN}", b"[" * OTHER.values
        yield "POST", f"/v1/groups/{OWN}/sources/a/readers", b'{"a":' * (OTHER.values // 2)
        yield "POST", f"/v1/groups/{OWN}/sources/a/watermarks", b"[" * FULL.values
        yield "POST", f"/v1/groups/{OWN}/watermarks", b'{"reports":' + b"[" * 900 + b"]" * 900 + b"}"


def absurd_numbers() -> Iterator[Request]:
    """Numbers of a million digits, above 64 bits, not finite, and at the ends of the range."""
    numbers = [
        "9" * 150_000,
        "1e999999999",
        "-0.0",
        "NaN",
        "Infinity",
        "1" + "0" * 4_299,
        str(2**63 - 1),
        str(-(2**63)),
    ]
    for number in (numbers[n % len(numbers)] for n in count()):
        config = f'{{"lease_ms":{number},"max_drift_ms":{number},"max_wait_ms":{number}}}'
        yield "PUT", f"/v1/groups/{OWN}", config.encode()
        report = f'{{"subtask":{number},"epoch":{number},"watermark":{number},"reach":{number},"park_ms":{number}}}'
        yield "POST", f"/v1/groups/{OWN}/sources/a/watermarks", report.encode()
        yield "POST", f"/v1/groups/{OWN}/sources/a/readers", f'{{"subtask":{number},"ceiling":{number}}}'.encode()
        yield "GET", f"/v1/groups/{OWN}/alignment?after={number[:4_000]}&wait_ms={number[:4_000]}", b""


def many_groups() -> Iterator[Request]:
    """A new group with each request, and looks at all of them."""
    for number in count():
        yield "POST", f"/v1/groups/{OWN}-{number}/sources/a/readers", b'{"subtask":0}'
        if number % 10 == 0:
            yield "GET", "/v1/groups?limit=1000", b""


def many_readers() -> Iterator[Request]:
    """New readers with as many splits as they may have, and looks at all of them."""
    splits = ",".join(f'"{n}":{{"watermark":{n},"position":{n},"rows":1}}' for n in range(9_000))
    for number in count():
        yield "POST", f"/v1/groups/{OWN}/sources/s{number % 900}/readers", f'{{"subtask":{number}}}'.encode()
        report = f'"subtask":{number},"epoch":1,"watermark":0'
        batch = ",".join([f'{{"source":"s",{report}}}'] * 10_000)
        yield "POST", f"/v1/groups/{OWN}/watermarks", f'{{"reports":[{batch}]}}'.encode()
        progress = f'{{"subtask":{number},"epoch":1,"batch_id":{number},"attempt":0,"splits":{{{splits}}}}}'
        yield "POST", f"/v1/groups/{OWN}/sources/s{number % 900}/progress", progress.encode()
        yield "GET", f"/v1/groups/{OWN}?limit=1000", b""


def takeovers() -> Iterator[Request]:
    """All that would change the other tenant's group, as itself and in disguise."""
    path = f"/v1/groups/{VICTIM}"
    while True:
        yield "POST", f"{path}/sources/orders/readers", b'{"subtask":0,"owner":"me","takeover":true}'
        yield "PUT", path, b'{"lease_ms":100,"max_drift_ms":9223372036854775807}'
        yield "DELETE", path, b""
        yield "DELETE", f"{path}/sources/orders/readers/0?force=true", b""
        yield "GET", f"{path}/alignment/events", b""
        for disguised in (f"/v1/groups/{OWN}/../{VICTIM}", "/v1/groups/%63heckout", f"/v1//groups/{VICTIM}"):
            yield "DELETE", disguised, b""
        yield "GET", "/metrics", b""


REQUESTS: dict[str, Callable[[], Iterator[Request]]] = {
    each.__name__: each for each in (huge_bodies, deep_json, absurd_numbers, many_groups, many_readers, takeovers)
}


class Tenant:
    """One token at one coordinator. `statuses` counts the answers; "broken": connections that the
    coordinator ended; "opened": requests that were to stay open.
    """

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 0
        self._head = f"Host: {parts.netloc}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        self.statuses: Counter[str] = Counter()

    async def call(self, requests: Iterator[Request]) -> None:
        """Sends one request after the other, each over a connection of its own."""
        for request in requests:
            await self._answer(*request)

    async def ask(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """The status, and the JSON of a good answer. Asks again where it has asked too often."""
        while True:
            answer = await self._answer(method, path, body)
            if not answer_is(answer, b"429"):
                head, _, text = answer.partition(b"\r\n\r\n")
                status = int(head.split(b" ", 2)[1]) if head else 0
                return status, json.loads(text) if status in (200, 201) and text else None

    async def _answer(self, method: str, path: str, body: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        try:
            writer.write(self._request(method, path, len(body), "Connection: close\r\n") + body)
            answer = await asyncio.wait_for(reader.read(), 30)
            self._count(answer)
        except (OSError, asyncio.TimeoutError):
            answer = b""
            self.statuses["broken"] += 1
        finally:
            writer.close()
        if answer_is(answer, b"429"):
            await asyncio.sleep(random.random() / 10)  # it asks more often than it may, but not without end
        return answer

    async def keep_open(self, method: str, path: str, size: int) -> None:
        """Opens a request, and sends or takes a byte now and then."""
        while True:
            reader, writer = await asyncio.open_connection(self._host, self._port)
            try:
                writer.write(self._request(method, path, size, ""))
                self.statuses["opened"] += 1
                answer = b""
                while True:
                    try:
                        part = await asyncio.wait_for(reader.read(64), 0.5)
                    except asyncio.TimeoutError:
                        if size:
                            writer.write(b" ")
                        continue
                    answer = answer or part
                    if not part:
                        break
                self._count(answer)
            except OSError:
                self.statuses["broken"] += 1
            finally:
                writer.close()
            await asyncio.sleep(random.random())

    def _request(self, method: str, path: str, size: int, more: str) -> bytes:
        return f"{method} {path} HTTP/1.1\r\n{self._head}{more}Content-Length: {size}\r\n\r\n".encode()

    def _count(self, answer: bytes) -> None:
        self.statuses[answer.split(b" ", 2)[1].decode() if answer.startswith(b"HTTP/1.1 ") else "broken"] += 1


def answer_is(answer: bytes, status: bytes) -> bool:
    return answer.startswith(b"HTTP/1.1 " + status)


def tasks(tenant: Tenant, attack: str) -> Iterator[Awaitable[None]]:
    """What runs at the same time."""
    if attack in REQUESTS:
        yield from (tenant.call(REQUESTS[attack]()) for _ in range(CALLERS))
    elif attack == "exchanges":
        yield from (Attack(tenant.ask, OWN, f"x{number}").run() for number in range(CALLERS))
    elif attack == "streams":
        yield tenant.call(iter([("PUT", f"/v1/groups/{OWN}", b"{}")]))
        path = f"/v1/groups/{OWN}/alignment"
        yield from (tenant.keep_open("GET", f"{path}/events", 0) for _ in range(OPEN_AT_ONCE))
        yield from (
            tenant.keep_open("GET", f"{path}?after=9223372036854775807&wait_ms=60000", 0) for _ in range(OPEN_AT_ONCE)
        )
        yield tenant.call(("POST", f"/v1/groups/{OWN}/sources/a/readers", b'{"subtask":0}') for _ in count())
    elif attack == "slow_bodies":
        yield from (tenant.keep_open("PUT", f"/v1/groups/{OWN}", MEBIBYTE) for _ in range(OPEN_AT_ONCE))
    else:
        for each in (*REQUESTS, "exchanges", "streams", "slow_bodies"):
            yield from tasks(tenant, each)


async def attack(tenant: Tenant, kind: str) -> None:
    """Until standard input ends."""
    running = {asyncio.ensure_future(task) for task in tasks(tenant, kind)}
    await asyncio.to_thread(sys.stdin.read)
    while running:
        for task in running:
            task.cancel()
        # Before Python 3.12 `wait_for` may swallow a cancellation, so it is repeated.
        ended, running = await asyncio.wait(running, timeout=1)
        for error in (task.exception() for task in ended if not task.cancelled()):
            if error is not None and not isinstance(error, OSError):
                raise error


def main() -> None:
    url, token, kind = sys.argv[1:]
    tenant = Tenant(url, token)
    for requests in REQUESTS.values():
        next(requests())
    os.nice(19)  # as if it were on another machine
    print("attacking", flush=True)
    asyncio.run(attack(tenant, kind))
    print(json.dumps(dict(sorted(tenant.statuses.items()))), flush=True)


if __name__ == "__main__":
    main()
