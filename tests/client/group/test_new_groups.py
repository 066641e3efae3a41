"""A group that is not there: a misspelt name is answered with the near ones, and none is created
where the query may not.
"""

import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest

from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent
from lockgate_http.calls.client import CoordinatorClient, NotRegistered
from lockgate_http.config import Coordinator
from lockgate_http.errors import ConfigurationError
from lockgate_http.group.group_session import GroupSession
from lockgate_http.group.joining import check_coordinator
from lockgate_http.group.registration import Registration
from lockgate_testbed.coordinator import CoordinatorProcess
from support.members import agreement
from support.tokens import FILE, SECRETS


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield a coordinator with the groups orders-eu and payments-eu."""
    file = tmp_path_factory.mktemp("tokens") / "tokens.toml"
    file.write_text(FILE)
    with CoordinatorProcess(options=("--tokens", str(file))) as coordinator:
        for group in ("orders-eu", "payments-eu"):
            with CoordinatorClient(of(coordinator.url, group)) as client:
                config = GroupConfig(max_drift_ms=300_000)
                client.register("a", ReaderRegistrationEvent(subtask=0, config=config))
        yield coordinator.url


def of(url: str, group: str, token: str = "reporter") -> Coordinator:
    return Coordinator(url, group=group, token=SECRETS[token], timeout="1 minute")


def check(coordinator: Coordinator) -> None:
    check_coordinator(coordinator, agreement(coordinator))


def test_a_new_group_is_warned_of_with_near_names(url: str, caplog: pytest.LogCaptureFixture) -> None:
    check(of(url, "payment-eu"))
    assert f"group payment-eu does not exist yet at {url}. Did you mean payments-eu? If so" in caplog.text


def test_existing_group_and_new_one_without_near_names_log_nothing(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "lockgate"):
        for group in ("something-else", "payments-eu"):
            check(of(url, group))
    assert not caplog.records


def test_a_way_to_catch_up_that_the_group_does_not_have_is_warned_of(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    check(replace(of(url, "payments-eu"), catch_up="strict"))
    assert "Coordinator(catch_up='strict') has no effect: group payments-eu already exists with catch_up=joint" in (
        caplog.text
    )
    caplog.clear()
    check(replace(of(url, "other"), catch_up="strict"))
    assert not caplog.messages


def test_a_token_is_told_no_group_that_it_may_not_see(url: str, caplog: pytest.LogCaptureFixture) -> None:
    check(of(url, "orders-us", token="orders"))
    assert "Did you mean orders-eu?" in caplog.text
    assert "payments" not in caplog.text


def test_a_group_that_must_be_there_is_refused_with_near_names(url: str) -> None:
    group = replace(of(url, "payment-eu"), new_group="refuse")
    with pytest.raises(ConfigurationError) as refused:
        check(group)
    assert f"{url} has no group payment-eu (did you mean payments-eu?): correct Coordinator(group=…)" in str(
        refused.value
    )


def test_coordinator_away_at_the_start_is_asked_before_registration(url: str) -> None:
    group = replace(of(url, "payment-eu"), new_group="refuse")
    session = GroupSession.joined(group)
    with session.client:
        registration = Registration(session, group, agreement(group), "a", "me", "1")
        with pytest.raises(ConfigurationError, match="has no group payment-eu"):
            registration.register([0], None)
        with pytest.raises(NotRegistered):
            session.client.config()


def test_a_new_group_is_created_or_refused_and_nothing_else() -> None:
    with pytest.raises(ConfigurationError, match=r"new_group='never'\): expected 'create' or 'refuse'"):
        Coordinator("http://c", group="g", new_group="never")  # type: ignore[arg-type]
