"""Rules broken on purpose. For each, the `.diff` files of this folder have a small change of a
source file, and the tests besides the replay that should notice it:

    --- PACKAGE/FILE  TEST FILES
    @@ the rule that no longer holds
    -the text that it takes, which occurs once in the file: whole lines, or part of one
    +what becomes of it
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Break:
    """`rule` is what no longer holds when `old` (which occurs once in `file`) becomes `new`.

    `file` is a path inside `package`; `tests` are names of test files anywhere under `tests`.
    """

    rule: str
    package: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def _breaks_of(text: str) -> Iterator[Break]:
    for part in f"\n{text}".split("\n--- ")[1:]:
        head, *hunks = part.split("\n@@ ")
        place, *tests = head.split()
        package, _, file = place.partition("/")
        for hunk in hunks:
            rule, *lines = hunk.splitlines()
            old, new = ("\n".join(line[1:] for line in lines if line[0] == sign) for sign in "-+")
            yield Break(rule, package, file, old, new, tuple(tests))


BREAKS = tuple(each for path in sorted(Path(__file__).parent.glob("*.diff")) for each in _breaks_of(path.read_text()))
