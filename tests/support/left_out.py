"""What a machine lacks: its tests are left out with the reason and the remedy, or fail with
CI=true.
"""

import os
from collections.abc import Callable
from typing import NoReturn, TypeVar

import pytest

from lockgate_testbed.errors import Missing

T = TypeVar("T")


def or_left_out(start: Callable[[], T]) -> T:
    """What `start` gives, unless it says that something is missing."""
    try:
        return start()
    except Missing as missing:
        _left_out(str(missing))


def _left_out(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI must not leave this out: {reason}", pytrace=False)
    pytest.skip(reason)
