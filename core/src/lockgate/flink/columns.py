"""Columns of event times: numpy or Arrow in, 64-bit milliseconds out.

A column is a one-dimensional array of integers (milliseconds) or of timestamps of any unit. A finer
unit is cut to the millisecond below, as `floor` does, so the column form gives the same result as
the per-event form. Null values, floating point and numbers beyond 64 bits are refused. Otherwise a
missing event time would silently become one.

numpy is an extra (`pip install lockgate[columns]`), and is imported only when a column comes. Arrow
arrays bring their own conversion, so pyarrow is not imported here. Used by the generators'
`on_column` and by `lockgate.flink.split_columns`.
"""

from typing import TYPE_CHECKING, Any, Protocol

from lockgate.errors import InvalidValue
from lockgate.watermark import MAX

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PER_MILLI = {"us": 1_000, "ns": 1_000_000, "ps": 1_000_000_000, "fs": 10**12, "as": 10**15}
_MILLIS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "D": 86_400_000, "W": 604_800_000}


class TimeColumn(Protocol):
    """A numpy array, an Arrow array or a chunked Arrow array of event times."""

    def __len__(self) -> int:
        """Return the number of rows."""


def event_times(column: TimeColumn) -> "NDArray[np.int64]":
    """Return the column in milliseconds, without a copy if it already is. Raises `InvalidValue`."""
    import numpy as np

    values = _as_numpy(column)
    if values.ndim != 1:
        raise InvalidValue("event times", f"must be one column, not an array of {values.ndim} dimensions")
    if values.dtype.kind == "M":
        return _milliseconds(values)
    if values.dtype.kind not in "iu":
        raise InvalidValue("event times", f"must be integers (ms) or timestamps, not {values.dtype}")
    if values.dtype == np.uint64 and len(values) and int(values.max()) > MAX:
        raise InvalidValue("event times", f"must fit into 64 bits with a sign, but one is {values.max()}")
    millis: NDArray[np.int64] = values.astype(np.int64, copy=False)
    return millis


def _as_numpy(column: TimeColumn) -> "NDArray[Any]":
    import numpy as np

    if isinstance(column, np.ndarray):
        return column
    nulls = getattr(column, "null_count", None)
    if nulls is None:
        raise InvalidValue("event times", f"must be a numpy or an Arrow array, not {type(column).__name__}")
    if nulls:
        raise InvalidValue("event times", f"must not be null, but {nulls} of {len(column)} are")
    # An array with a null_count is Arrow's, and has `to_numpy` too.
    to_numpy = column.to_numpy  # type: ignore[attr-defined]
    # A chunked array always copies; asking a plain one not to would fail for timestamps with a time
    # zone.
    values: NDArray[Any] = to_numpy() if hasattr(column, "chunks") else to_numpy(zero_copy_only=False)
    return values


def _milliseconds(values: "NDArray[Any]") -> "NDArray[np.int64]":
    import numpy as np

    if np.isnat(values).any():
        raise InvalidValue("event times", "must not be NaT")
    unit, count = np.datetime_data(values.dtype)
    raw: NDArray[np.int64] = values.view(np.int64)
    if unit in _PER_MILLI and _PER_MILLI[unit] % count == 0:
        return raw // (_PER_MILLI[unit] // count)
    factor = _MILLIS.get(unit, 0) * count
    if not factor or (len(raw) and max(abs(int(raw.min())), abs(int(raw.max()))) > MAX // factor):
        raise InvalidValue("event times", f"of the unit {values.dtype} cannot be counted in 64 bits of milliseconds")
    return raw if factor == 1 else raw * factor
