"""What `make audit` asks for, and what it says of versions that nobody could check."""

import importlib.util
import re
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from support.imports import CHECKOUT

CLEAN = {"name": "a", "version": "1", "vulns": []}
FAULTY = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]}
SKIPPED = {"name": "c", "version": "3", "skip_reason": "not found"}


@pytest.fixture(scope="module")
def audit() -> Iterator[ModuleType]:
    sys.path.insert(0, str(CHECKOUT / "release"))
    spec = importlib.util.spec_from_file_location("release_audit", CHECKOUT / "release/audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(CHECKOUT / "release"))


def test_every_version_that_an_image_installs_is_asked_for(audit: ModuleType) -> None:
    asked = set(audit.pinned())
    for file in (CHECKOUT / "constraints/images").glob("*.txt"):
        installed = re.findall(r"(?m)^(\S+==[^\s;\\]+)", file.read_text(encoding="utf-8"))
        assert {pin.lower() for pin in installed} <= asked, file.name
        assert installed


def test_a_registry_without_data_is_no_clean_result(audit: ModuleType) -> None:
    (said,) = audit.told([SKIPPED, SKIPPED])
    assert said.startswith("NOT CHECKED: 2 of 2 pinned versions.")
    assert "vulnerable" not in said


def test_what_was_checked_and_what_was_not_are_counted_apart(audit: ModuleType) -> None:
    assert [line.partition(".")[0] for line in audit.told([CLEAN, FAULTY, SKIPPED])] == [
        "b 2: PYSEC-1, mended in 2",
        "2 of 3 pinned versions checked: 1 have known vulnerabilities",
        "NOT CHECKED: 1 of 3 pinned versions",
    ]
