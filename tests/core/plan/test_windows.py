from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.errors import InvalidValue
from lockgate.plan.windows import DAY, WEEK, Windows, Zone, fits
from support.examples import examples
from support.zones import HOUR, UNTIL, at, moment, zone

MINUTE = 60_000
NEW_YORK, KOLKATA, LORD_HOWE, APIA = "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia"
# whose clocks went back from 00:01 to 23:01 of the day before, until 2011
ST_JOHNS = "America/St_Johns"
ZONES = [
    "UTC",
    KOLKATA,
    "Asia/Kathmandu",
    NEW_YORK,
    LORD_HOWE,
    APIA,
    ST_JOHNS,
    "Africa/Casablanca",
    "America/Havana",
    "Asia/Beirut",
]
SIZES = [MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, 45 * MINUTE, HOUR, 90 * MINUTE, 6 * HOUR, 12 * HOUR, DAY, WEEK]

instants = st.integers(0, UNTIL)
near_changes = st.sampled_from(ZONES).flatmap(
    lambda name: st.tuples(
        st.just(name),
        st.builds(
            lambda change, by: change[0] + by,
            st.sampled_from(zone(name).changes or ((0, 0),)),
            st.integers(-2 * DAY, 2 * DAY),
        ),
    )
)
anywhere = st.tuples(st.sampled_from(ZONES), instants) | near_changes


def name_of(event_time: int, size: int, zone_name: str) -> tuple[date, int]:
    """Under which name a table holds it: the week, the day, or the part of the day, as the clocks
    show it.
    """
    shown = moment(event_time, zone_name)
    if size == WEEK:
        return shown.date() - timedelta(days=shown.weekday()), 0
    of_day = (shown.hour * 3_600 + shown.minute * 60 + shown.second) * 1000 + shown.microsecond // 1000
    return shown.date(), of_day // size


@examples(300, few=15)
@given(anywhere, st.sampled_from(SIZES))
def test_windows_have_no_gaps_and_each_instant_lies_in_its_own(place: tuple[str, int], size: int) -> None:
    name, event_time = place
    windows = Windows(size, zone(name))
    begin, end = windows.begin(event_time), windows.end(event_time)
    assert begin <= event_time < end
    assert (windows.begin(begin), windows.end(begin)) == (begin, end)
    assert (windows.begin(end - 1), windows.end(end - 1)) == (begin, end)
    assert windows.begin(end) == end


@examples(300, few=15)
@given(anywhere, st.integers(0, 3 * DAY), st.sampled_from(SIZES))
def test_rows_of_one_name_in_a_table_lie_in_one_window(place: tuple[str, int], later: int, size: int) -> None:
    name, event_time = place
    windows = Windows(size, zone(name))
    if name_of(event_time, size, name) == name_of(event_time + later, size, name):
        assert windows.begin(event_time) == windows.begin(event_time + later)


@examples(300, few=15)
@given(anywhere, st.sampled_from([size for size in SIZES if size <= DAY]))
def test_no_window_is_longer_than_its_name_where_no_clock_goes_back(place: tuple[str, int], size: int) -> None:
    name, event_time = place
    windows = Windows(size, zone(name))
    begin, end = windows.begin(event_time), windows.end(event_time)
    back = [
        instant
        for instant, after in zone(name).changes
        if begin < instant < end and after < zone(name).local(instant - 1) - instant + 1
    ]
    if not back:
        assert name_of(begin, size, name) == name_of(end - 1, size, name)


@pytest.mark.parametrize(
    ("name", "day", "hours"),
    [
        (NEW_YORK, "2026-03-08", 23),
        (NEW_YORK, "2026-07-01", 24),
        (NEW_YORK, "2026-11-01", 25),
        (LORD_HOWE, "2026-04-05", 24.5),
        (LORD_HOWE, "2026-10-04", 23.5),
        (KOLKATA, "2026-11-01", 24),
        ("America/Havana", "2026-11-01", 25),
    ],
)
def test_a_day_is_as_long_as_its_clocks_make_it(name: str, day: str, hours: float) -> None:
    windows, begin = Windows(DAY, zone(name)), at(f"{day}T00:00", name)
    assert windows.begin(begin + 5 * HOUR) == begin
    assert windows.end(begin) - begin == hours * HOUR


def test_a_day_that_a_zone_skips_has_no_window() -> None:
    windows, before = Windows(DAY, zone(APIA)), at("2011-12-29T12:00", APIA)
    assert windows.end(before) == at("2011-12-31T00:00", APIA)
    assert windows.end(before) - windows.begin(before) == DAY


def test_an_hour_that_comes_twice_is_one_window_and_so_are_its_halves() -> None:
    first, second = at("2026-11-01T01:00", NEW_YORK), at("2026-11-01T01:00", NEW_YORK, fold=1)
    for size in (30 * MINUTE, HOUR):
        windows = Windows(size, zone(NEW_YORK))
        assert (windows.begin(second + 35 * MINUTE), windows.end(first)) == (first, second + HOUR)
    assert Windows(HOUR, zone(NEW_YORK)).end(at("2026-03-08T01:30", NEW_YORK)) == at("2026-03-08T03:00", NEW_YORK)


def test_days_of_which_minutes_come_again_after_midnight_are_one_window() -> None:
    windows = Windows(DAY, zone(ST_JOHNS))
    begin = at("2006-10-28T00:00", ST_JOHNS)
    assert windows.begin(at("2006-10-29T12:00", ST_JOHNS)) == begin
    assert windows.end(begin) - begin == 49 * HOUR


def test_weeks_begin_on_monday_and_hours_with_the_zones_offset() -> None:
    assert Windows(WEEK, zone(NEW_YORK)).begin(at("2026-03-11T12:00", NEW_YORK)) == at("2026-03-09T00:00", NEW_YORK)
    assert Windows(WEEK, zone("UTC")).begin(0) == at("1969-12-29T00:00", "UTC")
    assert Windows(HOUR, zone(KOLKATA)).begin(at("2026-01-01T10:37", KOLKATA)) == at("2026-01-01T04:30", "UTC")


@given(instants, st.integers(1, 10 * DAY))
def test_without_a_zone_windows_of_any_size_are_multiples_of_it(event_time: int, size: int) -> None:
    windows = Windows(size)
    assert (windows.begin(event_time), windows.end(event_time)) == (
        event_time // size * size,
        event_time // size * size + size,
    )


@pytest.mark.parametrize("size", [0, -HOUR, 5 * HOUR, 7 * MINUTE, 2 * DAY, 2 * WEEK, DAY + 1])
def test_a_window_that_fits_no_day_is_refused(size: int) -> None:
    assert not fits(size)
    with pytest.raises(InvalidValue, match="size"):
        Windows(size, Zone())
