"""One name, one class: a public class name stands once, over all packages.

`lockgate.flink` mirrors Flink and keeps Flink's names. So some of its names stand a second time. A
few more names stand once on either side of the protocol. The lists below are complete.
"""

import ast
from collections import Counter, defaultdict

import pytest

from support.imports import SOURCES, inside, modules

FLINK = "lockgate.flink"
# Flink's names in the room `flink` that our own classes have too.
FLINK_S_AND_OURS = {
    "Operator",  # the client's: a `withWatermark` of a query's plan
    "ReaderRegistrationEvent",  # these three: events of our own protocol, in `lockgate.wire`
    "ReportedWatermarkEvent",
    "WatermarkAlignmentEvent",
}
# Flink has two classes for it: one of the DataStream API, one of SQL.
TWICE_IN_FLINK = {"AscendingTimestamps"}
# Classes of two packages that never meet: neither package imports the other.
IN_TWO_PACKAGES = {
    "Coordinator",  # the coordinator's service, and the client's configuration of it
    "Problem",  # a problem document (RFC 9457), as it is written and as it is read
}


def classes(package: str) -> dict[str, list[str]]:
    """Return the modules of a package that define each public class name. Flink's room counts only
    as a package of its own.
    """
    found = defaultdict(list)
    for module, path in sorted(modules().items()):
        if inside(module, package) and (package == FLINK or not inside(module, FLINK)):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(module)
    return found


@pytest.mark.parametrize("package", [*SOURCES, FLINK])
def test_a_class_name_stands_once_in_its_package(package: str) -> None:
    twice = {name: where for name, where in classes(package).items() if len(where) > 1}

    assert twice.keys() == (TWICE_IN_FLINK if package == FLINK else set()), twice


def test_the_packages_share_few_names() -> None:
    packages = Counter(name for package in SOURCES for name in classes(package))

    assert {name for name, count in packages.items() if count > 1} == IN_TWO_PACKAGES


def test_our_classes_share_few_names_with_the_room_that_mirrors_flink() -> None:
    ours = {name for package in SOURCES for name in classes(package)}

    assert ours & classes(FLINK).keys() == FLINK_S_AND_OURS
