"""A large body is read with pauses, and as `json.loads` reads a small one."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.steps import at_once
from lockgate_coordinator.api import bodies
from lockgate_coordinator.app import create_app
from lockgate_coordinator.limits import BodyLimit, Limits
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import MemoryStore
from support.examples import examples

GROUP = "/v1/groups/g"
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies are large from a few bytes on."""
    monkeypatch.setattr(bodies, "PIECE", 8)
    monkeypatch.setattr(bodies, "DEEPEST", 50)


@pytest.mark.usefixtures("small")
@examples(300)
@given(values, st.sampled_from([None, 1, "\t"]))
def test_a_body_in_parts_has_the_values_that_it_has_as_a_whole(value: Any, indent: int | str | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    assert at_once(bodies.parsed(text.encode())) == json.loads(text) == value


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2, 3, 4], "b": NaN}',
        '{"a": [1, 2, 3, 4], "b": [1, 2, tru]}',
        '{"a": [1, 2, 3, 4], "b": 01}',
        '{"a": [1, 2, 3, 4]} {}',
        '{"a": [1, 2, 3, 4],}',
        '["aaaaaaaa", "bbbbbbbbbb\x01"]',
        "[1, 2, 3, 4, 5, 6, 7, 8",
        "                    ",
        "12345678901234567890x",
    ],
)
def test_a_body_in_parts_is_refused_where_it_is_no_json(text: str) -> None:
    assert not is_json(lambda: json.loads(text, parse_constant=bodies._no_number))
    assert not is_json(lambda: at_once(bodies.parsed(text.encode())))


def is_json(read: Callable[[], object]) -> bool:
    try:
        read()
    except ValueError:
        return False
    return True


def test_a_large_value_that_is_nested_deeper_than_the_protocol_needs_is_refused() -> None:
    text = b'"%b"' % (b"x" * bodies.PIECE)
    assert at_once(bodies.parsed(b"[" * bodies.DEEPEST + text + b"]" * bodies.DEEPEST))
    for depth in (bodies.DEEPEST + 2, 100_000):
        with pytest.raises(RecursionError):
            at_once(bodies.parsed(b"[" * depth + text + b"]" * depth))


def lengths_of_steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From now on: how many bytes each call of `json.loads` has got."""
    found, loads = list[int](), json.loads

    def noted(text: str, **more: Any) -> Any:
        found.append(len(text))
        return loads(text, **more)

    monkeypatch.setattr(bodies.json, "loads", noted)  # type: ignore[attr-defined]
    return found


def client(limits: Limits = Limits()) -> httpx.AsyncClient:  # noqa: B008 – frozen
    app = create_app(MemoryStore(), Settings(limits=limits))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://lockgate")


async def test_the_longest_report_is_parsed_in_parts_and_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    found = lengths_of_steps(monkeypatch)
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
        assert max(found) <= bodies.PIECE + 3 * 5_000, "the parts, with their commas"
        many = {"splits": {name: {"watermark": 1, "position": 1, "rows": 1} for name in splits}}
        progress = {"subtask": 0, "epoch": report["epoch"], "batch_id": 1, "attempt": 1, **many}
        assert (await api.post(f"{GROUP}/sources/a/progress", json=progress)).status_code == 200


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


async def test_a_rejected_report_may_repeat_what_utf_8_cannot_carry() -> None:
    async with client() as api:
        await api.put(GROUP, json={})
        body = '{"reports":[{"source":"a","subtask":0,"epoch":1,"watermark":1,"splits":{"\\ud800":{}}}]}'
        answer = await api.post(f"{GROUP}/watermarks", content=body)
        assert answer.status_code == 200
        assert answer.json()["rejected"][0]["errors"][0]["field"] == "splits.\ud800"


def test_parts_have_at_most_so_many_bytes_and_items() -> None:
    raws = msgspec.json.decode(b"[%b0]" % (b"0," * 20_000), type=list[msgspec.Raw])
    assert max(map(len, bodies._parts(raws))) <= 5_000
    raws = msgspec.json.decode(b"[%b0]" % (b'"%b",' % (b"x" * 40_000) * 5), type=list[msgspec.Raw])
    assert max(map(len, bodies._parts(raws))) == 2


@examples(300)
@given(values)
def test_an_answer_in_parts_is_the_answer_as_a_whole(value: Any) -> None:
    assert json.loads(at_once(bodies.written(value))) == value
    assert json.loads(at_once(bodies.written({"x": [value] * 120}))) == {"x": [value] * 120}
    many = {f"{n}": value for n in range(700)}
    assert json.loads(at_once(bodies.written(many))) == many
