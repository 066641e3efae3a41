"""Two coordinators behind one address: what is sent there is answered as if there were one."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from compose.asking import Group, Reader
from compose.stack import Stack


@pytest.fixture
def group(stack: Stack, request: pytest.FixtureRequest) -> Group:
    """A group of the test's own."""
    return Group(stack.url, request.node.name)


def event(lines: Iterator[str]) -> dict[str, int]:
    """The next event of a stream."""
    data = next(line for line in lines if line.startswith("data:"))
    found: dict[str, int] = json.loads(data.removeprefix("data:"))
    return found


def test_both_coordinators_know_the_minimum_of_all_readers(group: Group) -> None:
    a, b = Reader(group, "a"), Reader(group, "b")
    a.reports(100)
    told = b.reports(50)
    answers = [group.alignment() for _ in range(6)]
    assert {answer.headers["X-Served-By"] for answer in answers} == {"coordinator-1", "coordinator-2"}
    assert [answer.json() for answer in answers] == [told.json()] * 6
    assert (told.json()["group_watermark"], told.json()["max_desired_watermark"]) == (50, 60)


def test_each_event_of_a_stream_passes_before_the_next_change_is_made(group: Group) -> None:
    reader = Reader(group, "a")
    first = reader.reports(0).json()
    with group.events() as lines:
        assert event(lines) == first
        for watermark in range(1, 9):
            told = reader.reports(watermark)
            told_at = time.monotonic()
            assert event(lines) == told.json()
            assert time.monotonic() - told_at < 1


def test_a_poll_and_a_stream_that_are_silent_for_a_minute_are_not_cut(group: Group) -> None:
    reader = Reader(group, "a")
    revision = reader.reports(0).json()["revision"]
    with ThreadPoolExecutor() as threads, group.events() as lines:
        assert event(lines)["revision"] == revision
        poll = threads.submit(group.alignment, after=revision, wait_ms=60_000)
        comments = [next(line for line in lines if line.startswith(":")) for _ in range(4)]
        answer = poll.result(70)
        assert (answer.status_code, len(comments)) == (204, 4)
        assert answer.elapsed.total_seconds() > 59
        told = reader.reports(1).json()
        assert event(lines) == told


def test_with_tokens_in_the_environment_nobody_else_is_let_in(stack: Stack, group: Group) -> None:
    Reader(group, "a").reports(1)
    stack.up(LOCKGATE_TOKENS="read=let-me-read-this-for-a-test")
    try:
        assert group.alignment().status_code == 401
        group.http.headers["Authorization"] = "Bearer let-me-read-this-for-a-test"
        assert group.alignment().json()["group_watermark"] == 1
        assert "let-me-read" not in stack.logs()
    finally:
        stack.up(LOCKGATE_TOKENS="")
