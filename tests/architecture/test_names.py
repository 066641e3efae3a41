"""One name, one class: within a package a public class name stands once.

`lockgate.flink` mirrors Flink and keeps Flink's names. A few of these the product has too, with
another content: the list below is complete.
"""

import ast
from collections import defaultdict

import pytest

from support.imports import SOURCES, inside, modules

FLINK_S_AND_OURS = {"ReaderRegistrationEvent", "ReportedWatermarkEvent", "WatermarkAlignmentEvent"}


def classes(package: str) -> dict[str, list[str]]:
    """The modules of a package that define each public class name, Flink's room left out."""
    found = defaultdict(list)
    for module, path in sorted(modules().items()):
        if inside(module, package) and (inside(package, "lockgate.flink") or not inside(module, "lockgate.flink")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(module)
    return found


@pytest.mark.parametrize("package", SOURCES)
def test_a_class_name_stands_once_in_its_package(package: str) -> None:
    assert {name: where for name, where in classes(package).items() if len(where) > 1} == {}


def test_the_product_shares_few_names_with_the_room_that_mirrors_flink() -> None:
    assert classes("lockgate").keys() & classes("lockgate.flink").keys() == FLINK_S_AND_OURS
