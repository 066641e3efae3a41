"""One broken rule: a small change of a source file, and the tests beside the replay that should
notice.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Break:
    """`rule` is what no longer holds when `old` (which occurs once in `file`) becomes `new`.

    `file` is a path inside `package`; `tests` are names of test files anywhere under `tests`.
    """

    rule: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    package: str = "lockgate"
