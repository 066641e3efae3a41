import pickle
from collections.abc import Callable
from copy import copy
from dataclasses import replace

import pytest

from lockgate_spark import Alignment, ConfigurationError, Coordinator
from lockgate_spark.config import bounds_of

URL = "http://127.0.0.1:8080"


def test_a_token_never_shows() -> None:
    assert "hunter2" not in repr(Alignment(coordinator=Coordinator(URL, group="g", token="hunter2")))


@pytest.mark.parametrize(
    "values", [{"max_drift": "0 seconds"}, {"max_drift": "5 seconds", "max_out_of_orderness": "5 seconds"}]
)
def test_a_drift_that_would_let_nobody_read_is_refused(values: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="greater than max_out_of_orderness"):
        Alignment(**values)  # type: ignore[arg-type]


def test_bounds_are_in_milliseconds_with_five_minutes_of_drift_by_default() -> None:
    bounds = bounds_of(Alignment(idle_timeout="2 minutes"))
    assert (bounds.max_drift, bounds.idle_timeout, bounds.disorder) == (300_000, 120_000, 0)


@pytest.mark.parametrize("window", ["5 hours", "7 minutes", "2 days", "2 weeks", "25 hours"])
def test_slice_that_fits_no_zone_is_refused_unless_from_the_epoch(window: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"slice='{window}'.*divides a day.*slice_zone=\"epoch\""):
        Alignment(slice=window)
    assert Alignment(slice=window, slice_zone="epoch").slice == window


@pytest.mark.parametrize("zone", ["", " ", 2])
def test_a_slice_zone_that_is_no_name_is_refused(zone: object) -> None:
    with pytest.raises(ConfigurationError, match=r"slice_zone=.*Europe/Berlin"):
        Alignment(slice="1 day", slice_zone=zone)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("made", "hint"),
    [
        (lambda: Alignment(max_drft="1 minute"), "Alignment has no option 'max_drft': did you mean max_drift?"),  # type: ignore[call-arg]
        (lambda: Alignment(idle_time="1 minute"), "did you mean idle_timeout?"),  # type: ignore[call-arg]
        (lambda: Alignment(zzz=1), "there are max_drift, idle_timeout"),  # type: ignore[call-arg]
        (lambda: Coordinator("http://c:1", grup="g"), "Coordinator has no option 'grup': did you mean group?"),  # type: ignore[call-arg]
    ],
)
def test_an_option_that_there_is_not_is_named_with_the_near_one(made: Callable[[], object], hint: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        made()
    assert hint in str(refused.value)


def test_settings_can_be_copied_and_changed() -> None:
    alignment = Alignment(coordinator=Coordinator("http://c:1", group="g"))
    assert replace(copy(alignment), mode="observe").mode == "observe"
    assert pickle.loads(pickle.dumps(alignment)) == alignment
