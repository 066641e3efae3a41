"""The page on Flink parity names tests that exist, and every component that is replayed."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[2]
PAGE = (TESTS.parent / "docs" / "internals/flink-parity.md").read_text(encoding="utf-8")


def test_every_test_that_the_page_names_exists() -> None:
    named = re.findall(r"`(test_\w+\.py)(?:::(test_\w+))?`", PAGE)
    assert len(named) > 50
    for file, test in named:
        (path,) = TESTS.rglob(file)
        assert not test or f"def {test}(" in path.read_text(encoding="utf-8"), f"{file}::{test}"


def test_every_component_of_the_traces_has_its_table() -> None:
    components = {path.stem for path in (TESTS / "conformance" / "traces").glob("*.jsonl")}
    assert {component for component in components if f"`{component}`" not in PAGE} == set()
