"""A body becomes a message: the compiled decoder and the codec agree, and large bodies hold nobody
up.
"""

import asyncio
import json
from typing import Any

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lockgate.errors import InvalidMessage
from lockgate.wire.codec import from_json, to_json
from lockgate.wire.events import BATCH_LIMIT, ReportedWatermarkEvent, SplitReport, SplitState
from lockgate_coordinator.api import bodies
from lockgate_coordinator.api.reports import reports_of
from lockgate_coordinator.app import create_app
from lockgate_coordinator.limits import BodyLimit, Limits
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import MemoryStore
from support.examples import examples
from support.in_process import client_of
from support.messages import drawn, spoiled

GROUP = "/v1/groups/g"
SPLITS = b'{"a":{"watermark":1,"state":"active","end":9}}'
REPORT = b'{"subtask":0,"epoch":7,"watermark":1767225600000,"idle":false,"splits":%b}' % SPLITS
KINDS = list(bodies._decoders)
TEXT = '{"subtask": 0}'
NO_MESSAGES = [
    *(b"", b"null", b"[]", b"{", b"{}x", b'{"x":01}', b"[" * 5_000, b'{"subtask": ' + b"9" * 5_000 + b"}"),
    *(b'{"subtask": 0, "more": %b}' % value for value in (b"NaN", b"-Infinity", b'"\xff"')),
    *(TEXT.encode(encoding) for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "utf-32")),
]
"""Bodies of which no field can be named."""


def by_the_codec(kind: type[Any], body: bytes) -> Any:
    """Return the message, or None."""
    try:
        body.decode()
        return from_json(kind, json.loads(body, parse_constant=lambda text: pytest.fail(text)))
    except (ValueError, RecursionError):
        return None


def agrees(kind: type[Any], body: bytes) -> None:
    """Fail if the compiled decoder takes what the codec refuses, or reads it otherwise."""
    try:
        message = bodies._decoders[kind](body)
    except (ValueError, RecursionError):
        return
    if body.isascii():  # others are checked before
        assert message == by_the_codec(kind, body)


@pytest.mark.parametrize("kind", KINDS)
def test_every_message_of_a_client_is_decoded_by_the_compiled_decoder(kind: type[Any]) -> None:
    @given(drawn(kind))
    def claim(message: Any) -> None:
        assert bodies._decoders[kind](json.dumps(to_json(message)).encode()) == message

    claim()


@pytest.mark.parametrize(("splits", "compiled"), [(5_000, True), (10_000, False)])
def test_report_of_5000_splits_is_decoded_by_the_compiled_decoder(splits: int, compiled: bool) -> None:
    split = SplitReport(watermark=1_767_225_600_000, state=SplitState.ACTIVE, position=1_000_000, end=1_000_000)
    report = ReportedWatermarkEvent(
        subtask=0, epoch=7, watermark=split.watermark, splits={f"topic-{n}": split for n in range(splits)}
    )
    body = json.dumps(to_json(report), separators=(",", ":")).encode()
    assert (bodies.compiled(ReportedWatermarkEvent, body) == report) is compiled


@pytest.mark.parametrize("kind", KINDS)
def test_the_compiled_decoder_takes_only_what_the_codec_takes(kind: type[Any]) -> None:
    @examples(300)
    @given(drawn(kind), st.data())
    def claim(message: Any, data: st.DataObject) -> None:
        spoilt = data.draw(st.composite(lambda draw: spoiled(draw, to_json(message)))())
        agrees(kind, json.dumps(spoilt).encode())

    claim()


@examples(300)
@given(at=st.integers(0, len(REPORT)), until=st.integers(0, 8), piece=st.binary(max_size=8))
@example(at=42, until=2, piece=b"1.0")
@example(at=42, until=2, piece=b'1,"watermark":2')
@example(at=1, until=0, piece=b'"unknown \\ud800":1,')
@example(at=1, until=0, piece=b'"unknown":' + b"[" * 100_000)
def test_a_report_with_bytes_changed_is_read_alike(at: int, until: int, piece: bytes) -> None:
    agrees(ReportedWatermarkEvent, REPORT[:at] + piece + REPORT[at + until :])


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b'{"subtask": 0, "epoch": true, "watermark": 1.0}', ["epoch", "watermark"]),
        (b'{"subtask": 0, "epoch": 1, "watermark": 9223372036854775808}', ["watermark"]),
        (b'{"subtask": 0, "epoch": 1, "watermark": 1, "splits": {"\\ud800": {"watermark": 1}}}', ["splits.\ud800"]),
        *((body, ["body"]) for body in NO_MESSAGES),
    ],
)
def test_a_body_that_breaks_the_protocol_is_refused_by_field(body: bytes, fields: list[str]) -> None:
    with pytest.raises(InvalidMessage) as refused:
        bodies.decoded(ReportedWatermarkEvent, body)
    assert [field for field, _ in refused.value.faults] == fields


@pytest.mark.parametrize("route", ["sources/s/readers", "sources/s/watermarks", "watermarks"])
async def test_each_route_refuses_what_is_no_json_in_utf_8(route: str) -> None:
    async with client() as api:
        for body in NO_MESSAGES:
            refused = (await api.post(f"{GROUP}/{route}", content=body)).json()
            assert (refused["type"], refused["errors"][0]["field"]) == ("urn:lockgate:invalid-request", "body"), body


def test_batch_of_more_reports_than_the_limit_is_refused() -> None:
    assert len(reports_of(b'{"reports":[%b0]}' % (b"0," * (BATCH_LIMIT - 1)))) == BATCH_LIMIT
    for body in (b'{"reports":[%b0]}' % (b"0," * BATCH_LIMIT), b'{"reports":1}', b"{}", b"[]"):
        with pytest.raises(InvalidMessage):
            reports_of(body)


def client(limits: Limits = Limits()) -> httpx.AsyncClient:  # noqa: B008 – frozen
    return client_of(create_app(MemoryStore(), Settings(limits=limits)))


async def test_the_longest_report_is_taken() -> None:
    number = -(2**63)
    split = {"watermark": number, "state": "finished", "position": number, "end": number, "rows": 2**63 - 1}
    async with client() as api:
        registered = await api.post(f"{GROUP}/sources/a/readers", json={"subtask": 0})
        report = {"subtask": 0, "epoch": registered.json()["epoch"], "watermark": 1}
        splits = {f"{n:0>255}": split for n in range(Limits().splits)}
        body = json.dumps({**report, "splits": splits}, separators=(",", ":"))
        answer = await api.post(f"{GROUP}/sources/a/watermarks", content=body)
        assert answer.status_code == 200, answer.text
        assert len(body) > Limits().report_body.size * 0.9
        many = {"splits": {name: {"watermark": 1, "position": 1, "rows": 1} for name in splits}}
        progress = {"subtask": 0, "epoch": report["epoch"], "batch_id": 1, "attempt": 1, **many}
        assert (await api.post(f"{GROUP}/sources/a/progress", json=progress)).status_code == 200


async def test_others_are_answered_while_a_large_faulty_body_is_read() -> None:
    async with client() as api:
        await api.put(GROUP, json={})
        splits = {f"{n}": {"watermark": 1} for n in range(30_000)}
        body = {"subtask": 0, "epoch": 1, "watermark": 1, "splits": {**splits, "bad": {}}}
        reading = asyncio.create_task(api.post(f"{GROUP}/sources/a/watermarks", json=body))
        answered = 0
        while not reading.done():
            assert (await api.get(f"{GROUP}/alignment")).status_code == 200
            answered += 1
        assert (await reading).json()["errors"] == [{"field": "splits.bad.watermark", "detail": "is missing"}]
        assert answered > 3


async def test_the_longest_configuration_and_registration_are_taken() -> None:
    limits = Limits()
    expected = [f"{n:0>255}" for n in range(limits.sources)]
    attributes = {"a": "\u00e9" * ((limits.attributes - 1) // 2)}
    async with client() as api:
        assert (await api.put(GROUP, json={"expected_sources": expected})).status_code == 201
        body = {"subtask": 0, "attributes": attributes, "config": {"expected_sources": expected}}
        answer = await api.post(f"{GROUP}/sources/a/readers", content=json.dumps(body))
        assert answer.status_code == 201, answer.text


def test_higher_limits_allow_longer_bodies() -> None:
    assert Limits(splits=20_000).report_body == BodyLimit(8_200_000, 200_000)
    assert Limits(splits=100_000).report_body.values == 800_000
    assert Limits(sources=10_000).other_body.size > 260 * 10_000


async def test_a_body_without_splits_may_be_shorter_than_one_with_splits() -> None:
    async with client() as api:
        limit = Limits().other_body
        for path in (GROUP, f"{GROUP}/sources/a/readers"):
            method = "PUT" if path == GROUP else "POST"
            for content in (b"{}".ljust(limit.size + 1), b'{"x":[%b0]}' % (b"0," * limit.values)):
                refused = await api.request(method, path, content=content)
                assert (refused.status_code, refused.json()["type"]) == (413, "urn:lockgate:too-large")


async def test_text_that_utf_8_cannot_carry_is_refused() -> None:
    async with client() as api:
        for text, field in ((b"\\ud800", "owner"), (b"\xff", "body")):
            answer = await api.post(f"{GROUP}/sources/a/readers", content=b'{"subtask":0,"owner":"%b"}' % text)
            assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
