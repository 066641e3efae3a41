"""Time zones for tests without a JVM, by Python's own tables."""

from datetime import datetime, timedelta, timezone
from functools import cache
from zoneinfo import ZoneInfo

from lockgate.plan.windows import Zone

HOUR = 3_600_000
_STEP = 4 * 24 * HOUR  # no zone of the tests changes its clocks twice in it
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
UNTIL = 4_102_444_800_000  # 2100


def moment(event_time: int, name: str) -> datetime:
    """The calendar and the clocks of a zone."""
    return (_EPOCH + timedelta(milliseconds=event_time)).astimezone(ZoneInfo(name))


def at(text: str, name: str, fold: int = 0) -> int:
    """The instant (ms) at which they show `text`, in ISO 8601; of two the second with `fold=1`."""
    shown = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(name), fold=fold)
    return (shown - _EPOCH) // timedelta(milliseconds=1)


@cache
def zone(name: str) -> Zone:
    """All changes of clocks from 1970 to 2100."""
    changes, before = [], _offset(0, name)
    for end in range(_STEP, UNTIL + 1, _STEP):
        if _offset(end, name) != before:
            changes.append((_change(end - _STEP, end, name), _offset(end, name)))
            before = _offset(end, name)
    return Zone(_offset(0, name), tuple(changes))


def _change(low: int, high: int, name: str) -> int:
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _offset(middle, name) == _offset(low, name) else (low, middle)
    return high


def _offset(event_time: int, name: str) -> int:
    offset = moment(event_time, name).utcoffset()
    assert offset is not None
    return offset // timedelta(milliseconds=1)
