"""How many examples hypothesis draws: few at each commit, all in `make properties`.

Every run draws other ones, so what a commit's run misses another run finds.
"""

import os
from typing import Any

from hypothesis import settings

ALL = os.environ.get("EXAMPLES") == "all"
MOST = 100 if ALL else 10


def examples(most: int, few: int = 0, **others: Any) -> settings:
    """`most` examples in `make properties`; otherwise `few`, or a tenth of them, ten at least."""
    return settings(max_examples=most if ALL else few or max(10, most // 10), deadline=None, **others)
