"""No option does nothing without a word: each has its effect, or is warned of with what to do."""

import logging
from dataclasses import fields

import pytest

from lockgate_http.errors import ConfigurationError
from lockgate_spark import Alignment, Coordinator
from lockgate_spark.conf import configured, refuse_options
from lockgate_spark.joining import warn_of_gate, warn_of_options

Given = dict[str, object]

GROUP = {"url": "http://c:1", "group": "g"}
ALWAYS_EFFECTIVE = {
    "max_drift", "idle_timeout", "max_out_of_orderness", "future_bound", "past_bound", "mode", "other_event_time",
    "late_rows", "event_time", "coordinator",
    "url", "group", "source", "catch_up", "token", "token_file", "ca", "cert", "key", "timeout", "on_outage",
    "max_batch", "new_group",
}  # fmt: skip
"""Of any query that is aligned."""

TABLE: dict[str, tuple[Given, Given, str]] = {
    "slice": ({"slice": "1 day", "mode": "observe"}, {"mode": "align"}, "leave slice out of the dry run"),
    "slice_zone": ({"slice_zone": "UTC"}, {"slice": "1 day"}, "set slice as well"),
    "report": ({"report": "/r"}, {"mode": "observe"}, 'set mode="observe" as well'),
    "late_rows_path": ({"late_rows_path": "/l"}, {"late_rows": "keep"}, 'set late_rows="keep" as well'),
    "late_rows_topic": ({"late_rows_topic": "l"}, {"late_rows": "keep"}, "or leave late_rows_topic out"),
    "max_lag": ({"max_lag": "2 hours", "idle_timeout": "1 hour"}, {"idle_timeout": None}, "leave one of the two out"),
    "hold_for": ({"hold_for": "1 hour"}, {"on_outage": "fail"}, 'set on_outage to "proceed"'),
    "max_wait": ({"max_wait": "1 hour"}, {"available_now": True}, "only applies under trigger(availableNow=True)"),
    "park": ({"park": "1 hour"}, {"available_now": True}, "only applies under trigger(availableNow=True)"),
}
"""By option: a setting without effect, what gives it one, and what the warning says to do."""

OF_GROUP = {field.name for field in fields(Coordinator)} - {"_"}


def made(given: Given) -> Alignment:
    """An alignment in a group, of options of both classes."""
    group = Coordinator(**GROUP, **{k: v for k, v in given.items() if k in OF_GROUP})  # type: ignore[arg-type]
    return Alignment(coordinator=group, **{k: v for k, v in given.items() if k not in OF_GROUP})  # type: ignore[arg-type]


def start(given: Given) -> None:
    """Starts a run, as far as warnings go."""
    options = dict(given)
    available_now = bool(options.pop("available_now", False))
    warn_of_options(made(options), available_now)


def test_each_option_is_in_one_of_the_two_tables() -> None:
    options = {field.name for field in fields(Alignment)} - {"_"} | OF_GROUP
    assert options == ALWAYS_EFFECTIVE | set(TABLE)
    assert not ALWAYS_EFFECTIVE & set(TABLE)


@pytest.mark.parametrize("option", TABLE)
def test_an_option_without_effect_is_warned_of_with_what_to_do(option: str, caplog: pytest.LogCaptureFixture) -> None:
    without, gives_effect, remedy = TABLE[option]
    start(without)
    [said] = caplog.messages
    assert f"({option}={without[option]!r}) has no effect here: " in said
    assert remedy in said

    caplog.clear()
    start(without | gives_effect)
    assert not caplog.messages


def test_options_that_were_left_alone_bring_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    for alignment in (Alignment(), made({}), made({"slice": "1 day", "idle_timeout": "1 minute"})):
        warn_of_options(alignment, available_now=False)
        warn_of_gate(alignment)
    assert not caplog.messages


def test_a_gate_names_the_options_that_it_has_no_use_for(caplog: pytest.LogCaptureFixture) -> None:
    useless: Given = {
        "slice_zone": "UTC",
        "max_lag": 0,
        "other_event_time": "warn",
        "report": "/r",
    }
    warn_of_gate(
        made(
            useless
            | {"hold_for": "1 hour", "max_wait": "1 hour", "past_bound": "1 day", "max_out_of_orderness": "1 second"}
        )
    )
    assert [said.partition("=")[0] for said in caplog.messages] == [
        *(f"Alignment({option}" for option in useless),
        "Coordinator(hold_for",
    ]


def test_a_switch_of_the_conf_is_true_or_false_in_a_classic_session_too() -> None:
    with pytest.raises(ConfigurationError, match=r"spark\.lockgate\.align=maybe: expected true or false"):
        configured(Alignment(), {"spark.lockgate.align": "maybe"})
    for switch in ("true", "false"):
        assert configured(Alignment(), {"spark.lockgate.align": switch}) == Alignment()


def test_an_option_of_a_stream_is_refused_where_nothing_reads_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    refuse_options({"subscribe": "orders", "kafka.lockgate.x": "1"})
    with pytest.raises(ConfigurationError) as refused:
        refuse_options({"LockGate.maxDrift": "1 s", "lockgate.align": "true", "lockgate.coordinator.token": "hunter2"})
    said = str(refused.value)
    assert said.startswith(
        "option LockGate.maxDrift=1 s, lockgate.align=true, lockgate.coordinator.token: align() does"
    )
    assert "Give align() an Alignment with these values" in said
    assert "hunter2" not in said + caplog.text
