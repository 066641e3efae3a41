"""Pages for the source files and folders that pages link to, so that the site needs no forge."""

import ast
from pathlib import Path

from website.pages import ROOT

LANGUAGES = {".py": "python", ".yml": "yaml", ".yaml": "yaml", ".json": "json", ".toml": "toml", ".lua": "lua"}
HIDDEN = "---\nsearch:\n  exclude: true\nhide:\n  - navigation\n  - toc\n---\n"
"""These pages are reached from others, and are in no search."""


def page_of(path: Path) -> str:
    """The page of a file or of a folder."""
    name = path.relative_to(ROOT).as_posix()
    return HIDDEN + (_folder(path, f"{name}/") if path.is_dir() else _file(path, name))


def _file(path: Path, name: str) -> str:
    fence = "````"
    text = path.read_text(encoding="utf-8").rstrip()
    return f"# {name}\n\n{fence}{LANGUAGES.get(path.suffix, 'text')}\n{text}\n{fence}\n"


def _folder(path: Path, name: str) -> str:
    """What the folder is for, and what is in it."""
    opening = path / "__init__.py"
    says = ast.get_docstring(ast.parse(opening.read_text(encoding="utf-8"))) if opening.exists() else None
    names = sorted(f"{each.name}/" if each.is_dir() else each.name for each in path.iterdir())
    listed = "\n".join(f"- `{each}`" for each in names if not each.startswith(("__", ".")))
    return f"# {name}\n\n{(says or '').strip()}\n\n{listed}\n"
