"""Which test files take longest, so that a run in several processes begins with them.

pytest-xdist gives one file after the other to whichever process is free. A file of two minutes that
comes last keeps one process at work while the others have ended. Files that are not named here take
a few seconds and come last, in their usual order.
"""

from pathlib import Path

SECONDS = {
    "test_demo.py": 200,
}
"""By the file's name: about how many seconds it took when it was last measured (docs/testing.md)."""


def seconds(file: Path) -> int:
    """How long the tests of a file take, roughly; 0 where they take little."""
    return SECONDS.get(file.name, 0)
