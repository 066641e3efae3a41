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
        left_out(str(missing))


def left_out(reason: str, *, may_be: bool = False) -> NoReturn:
    """Skip the test. With CI=true it fails, unless it `may_be` left out there."""
    if not may_be and os.environ.get("CI") == "true":
        pytest.fail(f"CI must not leave this out: {reason}", pytrace=False)
    pytest.skip(reason)
