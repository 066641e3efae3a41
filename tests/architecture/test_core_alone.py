"""`pytest tests/core` needs the core, pytest and hypothesis alone."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from core.conftest import NEEDS

TESTS = Path(__file__).parents[1]
CORE = TESTS / "core"
ALLOWED = {"lockgate", "pytest", "hypothesis", *sys.stdlib_module_names}
OURS = ("support", "core", "flink_replay", "conformance")


def imported(file: Path) -> Iterator[str]:
    """Yield the modules that a file imports where it is imported itself."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def foreign(file: Path, seen: set[Path]) -> set[str]:
    """Return what a file imports that is not there, by itself or by modules of the tests."""
    found = set[str]()
    for module in imported(file):
        first = module.partition(".")[0]
        ours = TESTS.joinpath(*module.split(".")).with_suffix(".py")
        if first in OURS and ours.exists() and ours not in seen:
            found |= foreign(ours, seen | {ours})
        elif first not in {*ALLOWED, *OURS}:
            found.add(module)
    return found


def test_tests_of_the_core_import_the_core_pytest_and_hypothesis_alone() -> None:
    files = [*CORE.rglob("*.py"), TESTS / "conftest.py"]
    others = {str(file.relative_to(CORE if CORE in file.parents else TESTS)): foreign(file, {file}) for file in files}
    assert {name: modules for name, modules in others.items() if modules and name not in NEEDS} == {}
