"""What an answer means: `Retry-After`, problem documents, and the exception for each status."""

from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate_http.calls.answers import (
    Answer,
    Busy,
    NotACoordinator,
    NotRegistered,
    Problem,
    Stale,
    Unreachable,
    refusal,
)
from lockgate_http.errors import AccessDenied, AlignmentError, CoordinatorRefused

NOON = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)


def answer(**headers: str) -> Answer:
    return Answer(503, {name.replace("_", "-"): value for name, value in headers.items()}, b"")


def http_date(at: datetime) -> str:
    return format_datetime(at, usegmt=True)


@given(st.integers(0, 10**9 - 1))
def test_retry_after_in_seconds_is_so_many_seconds(seconds: int) -> None:
    assert answer(retry_after=str(seconds)).asked_wait_s == seconds


@given(st.integers(-(10**6), 10**9))
def test_retry_after_as_a_date_counts_from_the_answer_s_own_clock(seconds: int) -> None:
    at = NOON + timedelta(seconds=seconds)
    assert answer(retry_after=http_date(at), date=http_date(NOON)).asked_wait_s == max(0, seconds)


@given(st.text(), st.text())
def test_whatever_the_headers_hold_a_wait_is_none_or_not_negative(value: str, date: str) -> None:
    wait = answer(retry_after=value, date=date).asked_wait_s
    assert wait is None or wait >= 0


@pytest.mark.parametrize("value", ["", "soon", "-1", "1.5", "١٢", http_date(NOON)])
def test_an_illegible_retry_after_is_none(value: str) -> None:
    assert answer(retry_after=value).asked_wait_s is None


def test_a_retry_after_beyond_all_bounds_is_only_very_long() -> None:
    assert (answer(retry_after="9" * 5_000).asked_wait_s or 0) > 10**8


@pytest.mark.parametrize(
    ("status", "kind", "expected", "passes"),
    [
        (429, "", Unreachable, True),
        (502, "", Unreachable, True),
        (503, "urn:lockgate:store-unavailable", Unreachable, True),
        (504, "", Unreachable, True),
        (500, "about:blank", Unreachable, False),
        (404, "urn:lockgate:unknown-group", NotRegistered, None),
        (404, "about:blank", NotACoordinator, None),
        (302, "", NotACoordinator, None),
        (409, "urn:lockgate:stale-epoch", Stale, None),
        (409, "urn:lockgate:reader-busy", Busy, None),
        (401, "", AccessDenied, None),
        (403, "", AccessDenied, None),
        (413, "urn:lockgate:too-large", CoordinatorRefused, None),
        (422, "urn:lockgate:invalid-request", CoordinatorRefused, None),
    ],
)
def test_each_status_has_its_exception(
    status: int, kind: str, expected: type[AlignmentError], passes: bool | None
) -> None:
    error = refusal(Problem(status, kind, "so it is"), "http://c", "g")
    assert type(error) is expected
    assert getattr(error, "passing", None) is passes
    assert "so it is" in str(error)


@pytest.mark.parametrize("status", [401, 403])
def test_a_denied_access_names_the_url_and_the_role_that_is_needed(status: int) -> None:
    error = refusal(Problem(status, "", "no"), "http://c:8080", "checkout")
    for part in ("http://c:8080", str(status), "role `report`", "checkout", "Coordinator(token=…)"):
        assert part in str(error)


def test_a_long_story_is_cut_off() -> None:
    assert len(str(refusal(Problem(422, "", "no " * 100_000), "http://c", "g"))) < 700


def test_what_a_server_says_steers_no_terminal_in_any_error() -> None:
    for status in range(300, 600):
        error = refusal(Problem(status, "urn:lockgate:stale-epoch", "a\x1b[2J\n\u202e"), "http://c", "g")
        assert str(error).isprintable()


@pytest.mark.parametrize("document", [b'{"status": null}', b'{"status": Infinity}', b"[]", b"no JSON"])
def test_body_that_is_no_problem_document_leaves_the_status_of_the_answer(document: bytes) -> None:
    found = Answer(502, {"content-type": "application/problem+json"}, document)
    assert Problem.of(found) == Problem(502, "", "")
