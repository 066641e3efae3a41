"""Reads the imports between modules out of the sources, without running them."""

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
SOURCES = {
    "lockgate": CHECKOUT / "core/src",
    "lockgate_coordinator": CHECKOUT / "services/coordinator/src",
    "lockgate_http": CHECKOUT / "clients/http/src",
    "lockgate_cli": CHECKOUT / "clients/cli/src",
    "lockgate_spark": CHECKOUT / "clients/spark/src",
    "lockgate_reader": CHECKOUT / "clients/reader/src",
    "lockgate_testbed": CHECKOUT / "tools/testbed/src",
}


class When(Enum):
    """When an import is made: as its module is loaded, when a function is called, or never, for
    types alone.
    """

    LOADED = "loaded"
    CALLED = "called"
    TYPED = "typed"


@dataclass(frozen=True)
class Import:
    """`importer` names `imported`: a module, never a thing in one. `name` is the thing taken from
    it ("" for the module itself).
    """

    importer: str
    imported: str
    name: str
    when: When

    def __str__(self) -> str:
        return f"{self.importer} imports {self.imported}" + (f" ({self.name})" if self.name else "")


@functools.cache
def modules() -> dict[str, Path]:
    """All modules of the packages, by their dotted names."""
    found = {}
    for package, source in SOURCES.items():
        for path in (source / package).rglob("*.py"):
            parts = path.relative_to(source).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@functools.cache
def imports_of(package: str) -> list[Import]:
    """All imports in a package, those inside functions too."""
    return [
        found
        for module, path in sorted(modules().items())
        if inside(module, package)
        for found in imports_in(module, path.read_text(encoding="utf-8"))
    ]


def imports_in(module: str, source: str) -> Iterator[Import]:
    """The imports of one module. The house imports absolutely; a relative import is an error."""
    for node, when in _statements(ast.parse(source), When.LOADED):
        if isinstance(node, ast.Import):
            yield from (Import(module, alias.name, "", when) for alias in node.names)
            continue
        assert node.level == 0, f"{module}, line {node.lineno}: import absolutely"
        for alias in node.names:
            submodule = f"{node.module}.{alias.name}"
            if submodule in modules():
                yield Import(module, submodule, "", when)
            else:
                yield Import(module, str(node.module), alias.name, when)


def inside(module: str, *packages: str) -> bool:
    """Whether a module is one of these, or below one."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def _statements(node: ast.AST, when: When) -> Iterator[tuple[ast.Import | ast.ImportFrom, When]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, when
        elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            yield from _statements(child, When.TYPED)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and when is When.LOADED:
            yield from _statements(child, When.CALLED)
        else:
            yield from _statements(child, when)
