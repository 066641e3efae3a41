"""Whatever is sent, the service answers or hangs up: no 5xx, nobody else waits, nothing grows.
Against a process, over raw sockets.
"""

import json
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import fields
from threading import Thread
from typing import Any
from urllib.parse import quote_from_bytes

import httpx
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.watermark import MAX, MIN
from lockgate.wire.split_codec import split_to_text
from lockgate_testbed.coordinator import CoordinatorProcess
from support.messages import KINDS

PATIENCE_S = 60.0
GROWTH_KB = 24 * 1024
"""What the process may be larger by after all of the below, with what it is after a warm-up: a body
of 8 MiB, its pieces, its JSON.
"""

BOUNDED = settings(max_examples=50, deadline=None, database=None, suppress_health_check=list(HealthCheck))
LONG = settings(BOUNDED, max_examples=2_000)

HOST = b"Host: x\r\n"
CLOSE = b"Connection: close\r\n"
WATERMARKS = b"POST /v1/groups/g/sources/s/watermarks HTTP/1.1\r\n" + HOST
REPORT = b'{"subtask": 0, "epoch": 1, "watermark": 1}'


@pytest.fixture(scope="module")
def coordinator() -> Iterator[CoordinatorProcess]:
    with CoordinatorProcess() as started:
        httpx.post(f"{started.url}/v1/groups/g/sources/s/readers", json={"subtask": 0}, timeout=PATIENCE_S)
        yield started


@pytest.fixture(autouse=True)
def unharmed(coordinator: CoordinatorProcess) -> Iterator[None]:
    """After each test the service answers others at once, and has said nothing of a fault."""
    yield
    assert httpx.get(f"{coordinator.url}/livez", timeout=PATIENCE_S).status_code == 200
    assert "Traceback" not in coordinator.log.read_text(encoding="utf-8")


def answered(coordinator: CoordinatorProcess, request: bytes, more: Iterable[bytes] = ()) -> bytes:
    """Return what comes back until the server hangs up or has nothing more to say, though we never
    say that we are done.
    """
    with socket.create_connection(("127.0.0.1", int(coordinator.url.rsplit(":", 1)[1])), PATIENCE_S) as connection:
        sending = Thread(target=_send, args=(connection, request, more), daemon=True)
        sending.start()
        received = _received(connection)
        with suppress(OSError):  # it may have hung up already
            connection.shutdown(socket.SHUT_RDWR)
        sending.join(PATIENCE_S)
    return received


def _received(connection: socket.socket) -> bytes:
    received = b""
    with suppress(ConnectionResetError):
        while piece := connection.recv(65_536):
            received += piece
            if received.startswith(
                b"HTTP/1.1 413"
            ):  # it goes on taking what it will not keep, so that its answer gets through
                break
    return received


def _send(connection: socket.socket, request: bytes, more: Iterable[bytes]) -> None:
    with suppress(OSError):  # hung up on
        connection.sendall(request)
        for piece in more:
            connection.sendall(piece)


def statuses(received: bytes) -> list[int]:
    return [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]]


def post(body: bytes, *headers: bytes) -> bytes:
    return WATERMARKS + CLOSE + b"".join(header + b"\r\n" for header in headers) + b"\r\n" + body


def get(path: bytes, *headers: bytes) -> bytes:
    return b"GET " + path + b" HTTP/1.1\r\n" + HOST + CLOSE + b"".join(header + b"\r\n" for header in headers) + b"\r\n"


HUNG_UP = 0
"""In place of a status, where the end of the connection may overtake the answer: there is still
something to be read.
"""

ONE_REQUEST = {
    "ten thousand headers": (get(b"/livez", *(b"X-%d: y" % i for i in range(10_000))), {200, 431}),
    "a header of 1 MB": (get(b"/livez", b"X: " + b"a" * 1_000_000), {431, HUNG_UP}),
    "a path of 1 MB": (get(b"/" + b"a" * 1_000_000), {400, 431, HUNG_UP}),
    "a length below 0": (post(REPORT, b"Content-Length: -5"), {400}),
    "a length beyond 64 bits": (post(REPORT, b"Content-Length: 99999999999999999999999"), {400, 413}),
    "a length of 1 TB": (post(REPORT, b"Content-Length: 1000000000000"), {413}),
    "a length that is too short": (post(REPORT, b"Content-Length: 1"), {400, 422}),
    "a length twice": (post(REPORT, b"Content-Length: 42", b"Content-Length: 43"), {400}),
    "a length and chunks": (post(b"0\r\n\r\n", b"Content-Length: 5", b"Transfer-Encoding: chunked"), {400}),
    "a chunk that lies": (post(b"ffffffffffffffffff\r\n{}", b"Transfer-Encoding: chunked"), {400}),
    "a chunk that is none": (post(b"xyz\r\n{}", b"Transfer-Encoding: chunked"), {400}),
    "no length": (post(REPORT), {400, 422}),
    "NUL in a name": (get(b"/v1/groups/%00"), {422}),
    "a raw NUL": (get(b"/v1/groups/\x00"), {400}),
    "a name that is no UTF-8": (get(b"/v1/groups/%ff%fe?limit=1&after=%ff"), {422}),
    "raw bytes in a name": (get(b"/v1/groups/\xff\xfe"), {400, 422}),
    "a percent sign alone": (get(b"/v1/groups/%zz%"), {422}),
    "dots": (get(b"/v1/groups/..%2f..%2fetc"), {404}),
    "a name of dots": (get(b"/v1/groups/.."), {422}),
    "an If-Match that is no text": (
        b"PUT /v1/groups/g HTTP/1.1\r\n" + HOST + CLOSE + b"If-Match: \xff\r\nContent-Length: 2\r\n\r\n{}",
        {412},
    ),
    "a Last-Event-ID that is no text": (get(b"/v1/groups/nobody/alignment/events", b"Last-Event-ID: \xff"), {404}),
    "a WebSocket": (
        get(b"/livez", b"Upgrade: websocket", b"Sec-WebSocket-Key: x", b"Sec-WebSocket-Version: 13"),
        {200},
    ),
    "TLS to a plain port": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 32, {400}),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400}),
    "CONNECT": (b"CONNECT x:1 HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", {400, 404}),
}


@pytest.mark.parametrize("name", ONE_REQUEST)
def test_a_request_that_no_client_makes_is_refused_or_answered(coordinator: CoordinatorProcess, name: str) -> None:
    request, expected = ONE_REQUEST[name]
    assert (statuses(answered(coordinator, request)) or [HUNG_UP])[0] in expected


def test_a_body_in_chunks_without_end_is_too_large(coordinator: CoordinatorProcess) -> None:
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    request = WATERMARKS + b"Transfer-Encoding: chunked\r\n\r\n"
    assert statuses(answered(coordinator, request, (chunk for _ in range(10_000)))) == [413]


def test_headers_without_end_are_refused(coordinator: CoordinatorProcess) -> None:
    headers = (b"X-%d: " % i + b"y" * 1_000 + b"\r\n" for i in range(100_000))
    assert (statuses(answered(coordinator, b"GET /livez HTTP/1.1\r\n" + HOST, headers)) or [HUNG_UP])[0] in (
        431,
        HUNG_UP,
    )


def test_a_thousand_requests_in_one_go_are_answered_in_order(coordinator: CoordinatorProcess) -> None:
    one = b"GET /v1/groups/g/alignment HTTP/1.1\r\n" + HOST + b"\r\n"
    assert statuses(answered(coordinator, one * 999 + get(b"/v1/groups/nobody"))) == [200] * 999 + [404]


NUMBERS = st.sampled_from([0, 1, -1, MIN, MAX, MIN - 1, MAX + 1, 2**53 + 1, 10**400, 1.0, -0.0, 1e308, True])
LITERALS = st.sampled_from(
    ["NaN", "Infinity", "-Infinity", "1e999", "01", '"\\ud800"', '"\\u0000"', "'x'", "[" * 50_000, '{"a":' * 5_000]
)
KEYS = st.sampled_from([*dict.fromkeys(each.name for kind in KINDS for each in fields(kind)), "", "\ud800"])
VALUES = st.recursive(
    NUMBERS | st.none() | st.text(max_size=5) | KEYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """JSON by and large: with keys twice, literals that JSON has not, cut off somewhere, or with
    bytes that are no UTF-8.
    """
    pairs = draw(st.lists(st.tuples(KEYS, VALUES.map(json.dumps) | LITERALS), max_size=8))
    text = "{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in pairs) + "}"
    body = text.encode()
    cut = draw(st.none() | st.integers(0, len(body)))
    return draw(st.binary(max_size=3)) + body if draw(st.integers(0, 9)) == 0 else body[:cut]


ROUTES = [
    ("PUT", "/v1/groups/g"),
    ("POST", "/v1/groups/g/sources/s/readers"),
    ("POST", "/v1/groups/g/sources/s/watermarks"),
    ("POST", "/v1/groups/g/sources/s/progress"),
    ("POST", "/v1/groups/g/watermarks"),
    ("POST", "/v1/groups/g/sources/s/readers/0/splits"),
    ("PUT", "/v1/groups/g/sources/s/splits"),
    ("POST", "/v1/groups/g/sources/s/events"),
]

SPLIT = split_to_text(KafkaPartitionSplit("t", 0))
EXCHANGES: dict[str, dict[str, Any]] = {
    "a split that is cut off": {"held": [{"split": SPLIT[:8], "assignment": 1}]},
    "the same split twice": {"held": [{"split": SPLIT, "assignment": 1}] * 2},
    "a report of another reader": {"report": {"subtask": 1, "epoch": 1, "watermark": 1}},
}
"""The faults that the message alone has are in `tests/core/wire/test_split_codec.py`."""


@pytest.mark.parametrize("name", EXCHANGES)
def test_faulty_exchange_names_its_fault_and_changes_nothing(coordinator: CoordinatorProcess, name: str) -> None:
    source = f"{coordinator.url}/v1/groups/g/sources/{name.replace(' ', '-').replace(',', '')}"
    epoch = httpx.post(f"{source}/readers", json={"subtask": 0}, timeout=PATIENCE_S).json()["epoch"]
    body = {"epoch": epoch, "held": [], **EXCHANGES[name]}
    answer = httpx.post(f"{source}/readers/0/splits", json=body, timeout=PATIENCE_S)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"], answer.text
    assert httpx.get(f"{source}/splits", timeout=PATIENCE_S).json().get("items", []) == []


def any_body_is_answered(coordinator: CoordinatorProcess, bound: settings) -> None:
    with httpx.Client(base_url=coordinator.url, timeout=PATIENCE_S) as client:

        @seed(20260101)
        @bound
        @given(route=st.sampled_from(ROUTES), body=bodies())
        def each(route: tuple[str, str], body: bytes) -> None:
            answer = client.request(*route, content=body)
            assert answer.status_code in (200, 201, 404, 409, 413, 422), (route, body[:300], answer.text[:300])
            json.loads(answer.text)

        each()


def any_name_is_answered(coordinator: CoordinatorProcess, bound: settings) -> None:
    names = st.binary(min_size=1, max_size=12) | st.sampled_from(
        [b"..", b"a/b", b"\0", b"a" * 256, "ä".encode(), b"%2e%2e", b"g"]
    )

    @seed(20260101)
    @bound
    @given(group=names, source=names, raw=st.booleans(), method=st.sampled_from([b"GET", b"DELETE", b"PATCH", b"HEAD"]))
    def each(group: bytes, source: bytes, raw: bool, method: bytes) -> None:
        path = b"/".join(
            [
                b"/v1/groups",
                *(name if raw else quote_from_bytes(name, safe="").encode() for name in (group, b"sources", source)),
            ]
        )
        got = statuses(answered(coordinator, method + b" " + path + b" HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n" * 2))
        assert got == [] or got[0] < 500, path

    each()


def any_bytes_are_answered(coordinator: CoordinatorProcess, bound: settings) -> None:
    whole = post(REPORT, b"Content-Length: %d" % len(REPORT))

    @seed(20260101)
    @bound
    @given(at=st.integers(0, len(whole)), until=st.integers(0, 20), bytes_=st.binary(max_size=20))
    def each(at: int, until: int, bytes_: bytes) -> None:
        mutated = whole[:at] + bytes_ + whole[at + until :]
        received = answered(coordinator, mutated + b"\r\n\r\n" + get(b"/livez") * 2)
        assert all(status < 500 for status in statuses(received)), mutated

    each()


@pytest.mark.parametrize("claim", [any_body_is_answered, any_name_is_answered, any_bytes_are_answered])
def test_any_input_is_answered(
    coordinator: CoordinatorProcess, claim: Callable[[CoordinatorProcess, settings], None]
) -> None:
    claim(coordinator, BOUNDED)


def test_nothing_grows(coordinator: CoordinatorProcess) -> None:
    def rounds(times: int) -> None:
        for _ in range(times):
            for body, status in (
                (b"[" + b"0," * 150_000 + b"0]", 422),
                (b"[" + b"0," * 4_000_000 + b"0]", 413),
                (b" " * (8 * 1024 * 1024 + 1), 413),
            ):
                assert (
                    httpx.post(
                        f"{coordinator.url}/v1/groups/g/watermarks", content=body, timeout=PATIENCE_S
                    ).status_code
                    == status
                )
            for request, _ in ONE_REQUEST.values():
                answered(coordinator, request)

    rounds(2)  # what the allocator keeps for the next time
    before, open_before = _resident_kb(coordinator.pid), _descriptors(coordinator.pid)
    rounds(4)
    assert _resident_kb(coordinator.pid) - before < GROWTH_KB
    deadline = time.monotonic() + PATIENCE_S
    while _descriptors(coordinator.pid) > open_before and time.monotonic() < deadline:
        httpx.get(f"{coordinator.url}/livez", timeout=PATIENCE_S)
    assert _descriptors(coordinator.pid) <= open_before


@pytest.mark.long
def test_any_input_at_length_is_answered_and_nothing_grows(coordinator: CoordinatorProcess) -> None:
    any_body_is_answered(coordinator, BOUNDED)
    before = _resident_kb(coordinator.pid)
    any_body_is_answered(coordinator, LONG)
    any_name_is_answered(coordinator, LONG)
    any_bytes_are_answered(coordinator, LONG)
    assert _resident_kb(coordinator.pid) - before < GROWTH_KB


def _resident_kb(pid: int | None) -> int:
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def _descriptors(pid: int | None) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))
