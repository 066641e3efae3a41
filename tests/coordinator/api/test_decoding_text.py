"""Arbitrary text: whatever the compiled decoder accepts, the codec accepts and reads alike."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from lockgate.watermark import MAX, MIN
from lockgate.wire import codec
from lockgate_coordinator.api.decoding import report_from_bytes
from support.examples import examples

ODD = st.sampled_from(
    ["1.0", "1e3", "-0", "true", "null", '"1"', "NaN", "[]", "{}", str(MAX + 1), str(MIN - 1), "01", "1E400"]
)
NUMBERS = st.integers(0, 10).map(str) | st.sampled_from([str(MIN), str(MAX), "-1"])
FLAGS = st.sampled_from(["true", "false", "null", "0", '"true"'])
STATES = st.sampled_from(['"active"', '"paused"', '"caught_up"', '"idle"', '"finished"', '"lost"', "null", "1"])
NAMES = st.sampled_from(["orders-0", "a:b", "", "a b", "a/b", "\ud800", "ä", "x" * 255, "x" * 256, "a\n"])


def objects(fields: dict[str, st.SearchStrategy[str]]) -> st.SearchStrategy[str]:
    """JSON text of an object with some of these fields, perhaps twice, and perhaps one that nobody
    knows.
    """
    pairs = st.sampled_from([*fields, "unknown"]).flatmap(
        lambda key: st.tuples(st.just(key), st.one_of(fields.get(key, NUMBERS), fields.get(key, NUMBERS), ODD))
    )
    return st.lists(pairs, max_size=8).map(
        lambda items: "{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in items) + "}"
    )


SPLITS = st.lists(
    st.tuples(
        NAMES, objects({"watermark": NUMBERS, "state": STATES, "position": NUMBERS, "end": NUMBERS, "rows": NUMBERS})
    ),
    max_size=3,
).map(lambda items: "{" + ",".join(f"{json.dumps(name)}:{split}" for name, split in items) + "}")
NEEDED = {"subtask": NUMBERS, "epoch": NUMBERS, "watermark": NUMBERS}
OPTIONAL = {
    "idle": FLAGS,
    "finished": FLAGS,
    "reach": NUMBERS,
    "batch_id": NUMBERS,
    "park_ms": NUMBERS,
    "splits": SPLITS,
}
REPORTS = st.tuples(NUMBERS, NUMBERS, NUMBERS, objects({**NEEDED, **OPTIONAL})).map(
    lambda drawn: (
        f'{{"subtask":{drawn[0]},"epoch":{drawn[1]},"watermark":{drawn[2]},' + drawn[3][1:].replace("}", "}", 1)
    )
)


def agrees(body: bytes) -> None:
    event = report_from_bytes(body)
    if event is not None:
        assert event == codec.report_from_json(json.loads(body))


@examples(300, derandomize=True)
@given(REPORTS.map(lambda text: text.replace(",}", "}").encode("utf-8", "surrogatepass")))
@example(b'{"subtask":0,"epoch":1,"watermark":1,"splits":{"p":{"watermark":1,"state":"active","position":null}}}')
@example(b'{"subtask":0,"epoch":1,"watermark":1.0}')
@example(b'{"subtask":0,"epoch":1,"watermark":1,"splits":{"a":{"watermark":1}}}')
@example(b'{"subtask":0,"epoch":1,"watermark":1,"splits":{"a":{"watermark":1}},"state":"active"}')
@example(b'{"subtask":0,"epoch":1,"watermark":1,"unknown \x80":1}')
@example(b'{"subtask":0,"epoch":1,"watermark":1,"watermark":2}')
def test_a_text_that_the_decoder_accepts_is_decoded_alike_by_the_codec(body: bytes) -> None:
    agrees(body)


@examples(300, derandomize=True)
@given(at=st.integers(0, 120), until=st.integers(0, 8), piece=st.binary(max_size=8))
def test_a_report_with_bytes_changed_is_read_alike(at: int, until: int, piece: bytes) -> None:
    splits = b'{"a":{"watermark":1,"state":"active","end":9}}'
    whole = b'{"subtask":0,"epoch":7,"watermark":1767225600000,"idle":false,"splits":%b}' % splits
    agrees(whole[:at] + piece + whole[at + until :])


def test_a_plain_report_is_decoded() -> None:
    assert (
        report_from_bytes(
            b'{"subtask":0,"epoch":1,"watermark":-5,"splits":{"a":{"watermark":1,"state":"paused"}},"new":{}}'
        )
        is not None
    )
