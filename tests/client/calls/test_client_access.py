"""The client and a coordinator that lets in only who has a token."""

from collections.abc import Callable, Iterator

import httpx
import pytest

from lockgate.wire.events import ReaderRegistrationEvent, ReportedWatermarkEvent
from lockgate_coordinator.app import create_app
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import MemoryStore
from lockgate_http.calls.client import CoordinatorClient, Unreachable
from lockgate_http.calls.retry import Pace
from lockgate_http.config import Coordinator
from lockgate_http.errors import AccessDenied
from lockgate_testbed.coordinator import CoordinatorProcess
from support.tokens import FILE, SECRETS, Clock


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = tmp_path_factory.mktemp("tokens") / "tokens.toml"
    file.write_text(FILE)
    with CoordinatorProcess(options=("--tokens", str(file))) as coordinator:
        yield coordinator.url


def client(url: str, token: str | None, group: str = "orders") -> CoordinatorClient:
    return CoordinatorClient(Coordinator(url, group=group, token=token, timeout="1 minute"))


def lives(one: CoordinatorClient) -> int:
    """Return the ceiling that a reader is told, from its registration on."""
    epoch = one.register("a", ReaderRegistrationEvent(subtask=0)).epoch
    told = one.report([("a", ReportedWatermarkEvent(subtask=0, epoch=epoch, watermark=5))]).alignment
    assert one.alignment() == told
    return told.max_desired_watermark - one.config().max_drift_ms


def test_a_token_with_the_role_report_is_all_that_a_reader_needs(guarded: str, topic: str) -> None:
    for name, group in (("reporter", topic), ("orders", "orders-1"), ("orders", "one")):
        with client(guarded, SECRETS[name], group) as one:
            assert lives(one) == 5


@pytest.mark.parametrize(
    ("token", "status", "said"),
    [
        (None, 401, "the request has no token"),
        ("lockgate_nobody-0123456789abcdef", 401, "no token that this coordinator knows"),
        (SECRETS["reader"], 403, "the role report"),
        (SECRETS["orders"], 403, "the group 'payments'"),
    ],
    ids=["none", "wrong", "another role", "another group"],
)
def test_a_refused_reader_is_told_which_role_it_needs_and_never_the_token(
    guarded: str, token: str | None, status: int, said: str
) -> None:
    with client(guarded, token, "payments") as one, pytest.raises(AccessDenied) as denied:
        one.register("a", ReaderRegistrationEvent(subtask=0))
    for part in (guarded, str(status), said, "role `report`", "Coordinator(token=…)"):
        assert part in str(denied.value)
    assert "Bearer" not in str(denied.value)
    assert token is None or token not in str(denied.value)


@pytest.fixture
def limited() -> Callable[[str], tuple[CoordinatorClient, list[float]]]:
    """Return a client of a coordinator that lets each token ask once a second, twice at first, and
    how long the client slept; time is made up.
    """
    clock, slept = Clock(), list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock.now += seconds

    def opened(timeout: str) -> tuple[CoordinatorClient, list[float]]:
        app = create_app(MemoryStore(), Settings(tokens=f"report={SECRETS['reporter']}", rate_limit=1), clock=clock)
        coordinator = Coordinator("http://coordinator", group="g", token=SECRETS["reporter"], timeout=timeout)
        return CoordinatorClient(coordinator, httpx.ASGITransport(app), Pace(clock, sleep, lambda: 0.5)), slept

    return opened


def test_client_that_asks_too_often_waits_and_gets_its_answer(
    limited: Callable[[str], tuple[CoordinatorClient, list[float]]],
) -> None:
    one, slept = limited("5 seconds")
    with one:
        assert lives(one) == 5  # four requests
    assert len(slept) == 2
    assert all(1 <= seconds < 2 for seconds in slept)


def test_a_wait_that_is_longer_than_its_patience_is_told_and_not_begun(
    limited: Callable[[str], tuple[CoordinatorClient, list[float]]],
) -> None:
    one, slept = limited("900 milliseconds")
    with one, pytest.raises(Unreachable, match=r"429.*asks to be left alone for 1 s"):
        lives(one)
    assert slept == []
