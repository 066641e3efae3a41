"""Alignment by a stream's options and its session's conf, where an extension of the server reads
them.
"""

from datetime import timedelta

import pytest

from lockgate_http.errors import ConfigurationError
from lockgate_spark import Alignment, Coordinator
from lockgate_spark.conf import as_options, asked
from lockgate_spark.config import bounds_of

ALIGN = {"lockgate.align": "true"}


def test_nothing_is_aligned_that_nobody_has_asked_for() -> None:
    assert asked({}, {}) is None
    assert asked({}, {"spark.lockgate.maxDrift": "1 minute"}) is None
    assert asked({"lockgate.align": "false", "lockgate.maxDrift": "1 minute"}, {"spark.lockgate.align": "true"}) is None


def test_a_stream_is_aligned_by_an_option_or_by_the_conf_of_its_session() -> None:
    assert asked(ALIGN, {}) == Alignment()
    assert asked({}, {"spark.lockgate.align": "true"}) == Alignment()
    assert asked(ALIGN, {"spark.lockgate.align": "false"}) == Alignment()


def test_the_switch_of_the_conf_turns_everything_off() -> None:
    assert asked(ALIGN, {"spark.lockgate.enabled": "false", "spark.lockgate.align": "true"}) is None


def test_options_are_case_insensitive_and_the_conf_overrides_them() -> None:
    options = ALIGN | {"lockgate.maxdrift": "3 minutes", "lockgate.slice": "1 hour", "lockgate.futureBound": "none"}
    found = asked(options, {"spark.lockgate.slice": "2 hours"})

    assert found == Alignment(max_drift="3 minutes", slice="2 hours", future_bound=None)


def test_an_unknown_option_is_refused_with_the_one_that_is_near() -> None:
    with pytest.raises(ConfigurationError, match=r"option lockgate\.maxDrfit: .* did you mean lockgate\.maxDrift\?"):
        asked(ALIGN | {"lockgate.maxDrfit": "1 minute"}, {})


def test_an_option_for_a_stream_that_is_not_aligned_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"lockgate\.maxDrift: .* set lockgate\.align to true"):
        asked({"lockgate.maxDrift": "1 minute"}, {})


def test_a_value_that_cannot_work_is_named_with_its_option() -> None:
    with pytest.raises(ConfigurationError, match=r"'soon'.*\(the stream's options have lockgate\.maxDrift\)"):
        asked(ALIGN | {"lockgate.maxDrift": "soon"}, {})
    with pytest.raises(ConfigurationError, match=r"lockgate\.align=yes: expected true or false"):
        asked({"lockgate.align": "yes"}, {})


def test_a_group_needs_its_address_and_its_name() -> None:
    with pytest.raises(ConfigurationError, match=r"lockgate\.coordinator\.group: not set"):
        asked(ALIGN | {"lockgate.coordinator.url": "http://localhost:8080"}, {})


@pytest.mark.parametrize(
    "alignment",
    [
        Alignment(),
        Alignment(max_drift=timedelta(minutes=90), past_bound=1500, future_bound=None),
        Alignment(max_lag=0),
        Alignment(slice="1 hour", slice_zone="UTC", late_rows="count", event_time="cast(value AS timestamp)"),
        Alignment(coordinator=Coordinator("http://localhost:8080", group="g", source="s", park="1 hour")),
    ],
)
def test_an_alignment_goes_through_options_unchanged(alignment: Alignment) -> None:
    found = asked(as_options(alignment), {})

    assert found is not None
    assert as_options(found) == as_options(alignment)
    assert bounds_of(found) == bounds_of(alignment)


def test_token_comes_from_the_conf_of_the_session_by_its_name() -> None:
    group = ALIGN | {"lockgate.coordinator.url": "http://localhost:8080", "lockgate.coordinator.group": "g"}
    named = group | {"lockgate.coordinator.tokenName": "checkout"}
    with pytest.raises(ConfigurationError, match=r"option \S+\.token: .* set spark\.lockgate\.coord") as caught:
        asked(group | {"lockgate.coordinator.token": "hunter2"}, {})
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ConfigurationError, match=r"tokenName=checkout: .* no spark\.lockgate\.token\.checkout"):
        asked(named, {})

    found = asked(named, {"spark.lockgate.token.checkout": "hunter2"})

    assert found is not None
    assert found.coordinator is not None
    assert found.coordinator.token == "hunter2"
    assert not any("hunter2" in value for value in as_options(found).values())
