"""The coordinator's client against a real coordinator, and against what else may answer at an
address.
"""

import logging
import threading
from collections.abc import Callable
from itertools import product

import pytest

from lockgate.watermark import MAX
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent, WatermarkAlignmentEvent
from lockgate_http.calls.client import CoordinatorClient, NotRegistered, Registered, Stale, Unreachable
from lockgate_http.calls.retry import Pace
from lockgate_http.config import Coordinator
from lockgate_http.errors import AccessDenied, AlignmentError, ConfigurationError, CoordinatorRefused
from support.answers import Answer, accepting_only, serving

TOKEN = "s3cret-t0ken"
Call = Callable[[CoordinatorClient], object]

REPORT = [("orders", ReportedWatermarkEvent(subtask=0, epoch=1, watermark=5))]
CALLS: dict[str, Call] = {
    "config": lambda client: client.config(),
    "register": lambda client: client.register("orders", ReaderRegistrationEvent(subtask=0)),
    "report": lambda client: client.report(REPORT),
    "wait": lambda client: wait(client, 0, 10),
}


def wait(client: CoordinatorClient, after: int, wait_ms: int) -> WatermarkAlignmentEvent | None:
    return client.call(lambda: client.wait(after, wait_ms))


@pytest.fixture(params=CALLS)
def call(request: pytest.FixtureRequest) -> Call:
    return CALLS[request.param]


def client(url: str, timeout: str = "1 minute", group: str = "g", pace: Pace = Pace()) -> CoordinatorClient:  # noqa: B008 – frozen
    return CoordinatorClient(Coordinator(url, group=group, token=TOKEN, timeout=timeout), pace=pace)


def made_up() -> Pace:
    """Of a clock that moves when somebody sleeps, so that the timeout is over after some attempts,
    however long each of them takes.
    """
    now = [0.0]

    async def sleep(seconds: float) -> None:
        now[0] += seconds

    return Pace(lambda: now[0], sleep, lambda: 1.0)


def test_a_registered_reader_s_report_is_answered_with_the_ceiling(url: str, topic: str) -> None:
    with client(url, group=topic) as one:
        registered = one.register("orders", ReaderRegistrationEvent(subtask=0, config=GroupConfig(max_drift_ms=60_000)))
        told = one.report(
            [("orders", ReportedWatermarkEvent(subtask=0, epoch=registered.epoch, watermark=5_000))]
        ).alignment
        assert one.config().max_drift_ms == 60_000
    assert (told.group_watermark, told.max_desired_watermark) == (5_000, 65_000)


def test_what_the_coordinator_does_not_know_is_not_registered(url: str, topic: str) -> None:
    with client(url, group=topic) as one:
        for ask in (CALLS["config"], CALLS["report"], CALLS["wait"]):
            with pytest.raises(NotRegistered):
                ask(one)


def test_an_older_epoch_is_stale(url: str, topic: str) -> None:
    with client(url, group=topic) as one:
        older = one.register("orders", ReaderRegistrationEvent(subtask=0, owner="me"))
        one.register("orders", ReaderRegistrationEvent(subtask=0, owner="me"))
        answer = one.report([("orders", ReportedWatermarkEvent(subtask=0, epoch=older.epoch, watermark=5))])
    assert [(index, type(no)) for index, no in answer.rejected.items()] == [(0, Stale)]


def test_a_wait_that_brings_nothing_new_ends_after_its_time(url: str, topic: str) -> None:
    with client(url, group=topic) as one:
        revision = one.register("orders", ReaderRegistrationEvent(subtask=0)).alignment.revision
        assert wait(one, revision, 30) is None
        now = wait(one, 0, 30)
        assert now is not None
        assert now.max_desired_watermark == MAX


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_token_says_what_to_set_and_is_not_sent_again(call: Call, status: int) -> None:
    answer = Answer(status, b'{"detail": "no"}', "application/problem+json")
    with (
        serving(answer) as url,
        client(url) as one,
        pytest.raises(AccessDenied, match=r"Coordinator\(token=…\).*role `report`"),
    ):
        call(one)
    assert [token for _, token in answer.asked] == [f"Bearer {TOKEN}"]


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_what_may_pass_is_unreachable(call: Call, status: int) -> None:
    with (
        serving(Answer(status, b"<html>busy</html>", "text/html")) as url,
        client(url, "10 seconds", pace=made_up()) as one,
        pytest.raises(Unreachable, match=str(status)),
    ):
        call(one)


def test_garbage_is_one_of_our_own_errors(call: Call) -> None:
    answer = Answer()
    bodies = (
        b"",
        b"<html>",
        b"\xff\xfe{",
        b"null",
        b"[]",
        b'"x"',
        b"{}",
        b"[" * 99_999,
        b'{"alignment": 7, "rejected": 8}',
        b'{"rejected": [9]}',
    )
    with serving(answer) as url, client(url, timeout="20 milliseconds") as one:
        for answer.status, answer.body, answer.kind in product(
            (200, 404, 409, 418, 503), bodies, ("application/json", "text/html")
        ):
            with pytest.raises(AlignmentError):
                call(one)


def test_an_answer_that_is_none_of_a_coordinator_says_so(call: Call) -> None:
    answer = Answer(200, b"<html>hello</html>", "text/html")
    with serving(answer) as url, client(url) as one, pytest.raises(CoordinatorRefused, match=r"is .* right"):
        call(one)


def test_a_redirect_is_not_followed_with_the_token(call: Call) -> None:
    elsewhere = Answer()
    with serving(elsewhere) as target:
        redirect = Answer(302, headers={"Location": f"{target}/login"})
        with serving(redirect) as url, client(url) as one, pytest.raises(CoordinatorRefused, match="302"):
            call(one)
    assert elsewhere.asked == []


def test_nobody_at_the_address_is_unreachable(call: Call) -> None:
    with accepting_only() as url:
        pass
    with (
        client(url, "10 seconds", pace=made_up()) as one,
        pytest.raises(Unreachable, match=r"Connection refused.*attempts within 10\S* s"),
    ):
        call(one)


def test_the_token_is_in_no_error_and_no_log(call: Call, caplog: pytest.LogCaptureFixture) -> None:
    answers = (
        Answer(401),
        Answer(503),
        Answer(200, b"?"),
        Answer(400, b'{"detail": "bad header Bearer s3cret-t0ken"}'),
    )
    with caplog.at_level(logging.DEBUG):
        for answer in answers:
            with serving(answer) as url, client(url, timeout="200 milliseconds") as one:
                with pytest.raises(AlignmentError) as raised:
                    call(one)
                assert TOKEN not in str(raised.value) + repr(one) + repr(Coordinator(url, group="g", token=TOKEN))
    assert TOKEN not in caplog.text


@pytest.mark.parametrize("token", ["s3cret\n", "s3cret\r\nX: y", "s3crét", "s3 cret"])
def test_token_no_header_can_carry_is_refused_without_being_repeated(token: str) -> None:
    with pytest.raises(ConfigurationError, match=r"Coordinator\(token\)") as raised:
        Coordinator("http://localhost:8080", group="g", token=token)
    assert "s3c" not in str(raised.value)


def test_the_owner_of_the_newest_epoch_can_be_asked_for(url: str, topic: str) -> None:
    with client(url, group=topic) as one:
        epoch = one.register("orders", ReaderRegistrationEvent(subtask=3, owner="me", attributes={"run": "2"})).epoch
        assert one.registered("orders") == {3: Registered(epoch, "me", {"run": "2"}, "registered")}


def test_all_pages_of_a_source_are_read(url: str, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockgate_http.calls.client.PAGE", 2)
    with client(url, group=topic) as one:
        for subtask in range(5):
            one.register("orders", ReaderRegistrationEvent(subtask=subtask))
        assert list(one.registered("orders")) == [0, 1, 2, 3, 4]


def test_calls_of_several_threads_go_on_side_by_side(url: str, topic: str) -> None:
    with client(url, group=topic) as one:
        revision = one.register("orders", ReaderRegistrationEvent(subtask=0)).alignment.revision
        waiting = threading.Thread(target=lambda: wait(one, revision, 60_000))
        waiting.start()
        assert one.config()
        assert waiting.is_alive()
        epoch = one.register("orders", ReaderRegistrationEvent(subtask=0)).epoch
        one.report([("orders", ReportedWatermarkEvent(subtask=0, epoch=epoch, watermark=5))])
        waiting.join(30)
        assert not waiting.is_alive()
