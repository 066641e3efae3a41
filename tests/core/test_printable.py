"""Text of others becomes one line that steers no terminal, and stays the same text in JSON."""

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.printable import printable

TEXTS = st.text(st.characters())  # with control characters, marks of direction and half surrogates


@given(TEXTS)
def test_printable_text_is_one_line_of_printable_characters(text: str) -> None:
    assert printable(text).isprintable()


@given(TEXTS)
def test_printable_text_stays_the_same_string_in_json(text: str) -> None:
    assert json.loads(printable(json.dumps(text, ensure_ascii=False))) == text


@given(TEXTS.filter(str.isprintable))
def test_text_that_is_printable_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


@given(TEXTS)
def test_a_log_record_of_any_handler_is_printable(text: str) -> None:
    log, said = logging.getLogger("lockgate"), list[str]()
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    try:
        log.warning("paused: %s", text)
        log.warning(text)
        log.warning("%s", ValueError(text))
    finally:
        log.removeHandler(handler)
    assert said == [f"paused: {printable(text)}", printable(text), printable(text)]


def test_an_ordinary_log_record_keeps_its_arguments(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("lockgate").warning("%d of %s", 3, "größer")
    assert caplog.records[0].args == (3, "größer")
