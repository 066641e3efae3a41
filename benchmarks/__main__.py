"""Run a benchmark by its name, or list all: `python -m benchmarks [NAME [OPTIONS]]`."""

import ast
import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
NO_BENCHMARKS = {"__init__", "__main__", "read_over_connect", "demo_pictures", "tables", "figures"}


def found(folder: Path) -> dict[str, Path]:
    """Return the benchmarks of a folder: each module, and each package with a `__main__`."""
    modules = {path.stem: path for path in folder.glob("*.py")}
    packages = {path.parent.name: path for path in folder.glob("*/__main__.py")}
    return {name: path for name, path in sorted((modules | packages).items()) if name not in NO_BENCHMARKS}


def listed(folder: Path) -> str:
    """Return a line for each benchmark of a folder: its name and its purpose."""
    return "\n".join(f"  {name:<14}{purpose(path)}" for name, path in found(folder).items())


def listing() -> str:
    """Return all benchmarks, a line each."""
    return f"{listed(HERE)}\n\nof single parts:\n{listed(HERE / 'more')}"


def purpose(path: Path) -> str:
    """Return the first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return re.split(r"(?<=[.:])\s", " ".join(text.split()))[0]


def main() -> None:
    """Run a benchmark from the command line."""
    if len(sys.argv) < 2:
        print(listing())
        return
    name, *options = sys.argv[1:]
    if name not in found(HERE) | found(HERE / "more"):
        raise SystemExit(f"no benchmark is called {name!r}; `make bench ARGS=--list` lists them")
    module = f"benchmarks.{name}" if name in found(HERE) else f"benchmarks.more.{name}"
    os.execv(sys.executable, [sys.executable, "-m", module, *options])


if __name__ == "__main__":
    main()
