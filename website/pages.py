"""Which files of the repository are pages of the site, and where each one is there.

The pages of docs/ keep their paths. README is the first page. The other pages of the root go into
`project/`. Whatever else a page links to is shown below `files/`, so no link leaves the site.
"""

from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PROJECT = ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md")
ASSETS = {name: f"assets/{name}" for name in ("extra.css", "worker-from-disk.js")}
"""Files beside this one, and where they are on the site."""


def own_pages() -> dict[Path, str]:
    """Each page that is written for readers, with its path on the site."""
    pages = {ROOT / "README.md": "index.md"}
    pages |= {path: path.relative_to(DOCS).as_posix() for path in sorted(DOCS.rglob("*.md"))}
    return pages | {ROOT / name: f"project/{name.lower()}" for name in PROJECT}


def place(path: Path) -> str:
    """Where a file or a folder of the repository is on the site; a file of docs keeps its path.

    Raises ValueError for a path outside of the repository.
    """
    own = own_pages().get(path)
    if own is not None:
        return own
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    inside = path.relative_to(ROOT).as_posix()
    if path.is_dir():
        return f"files/{inside}/index.md"
    return f"files/{inside}" if is_copied(path) else f"files/{inside}.md"


def is_copied(path: Path) -> bool:
    """Whether a linked file goes to the site as it is: a page, a picture, or much data."""
    return path.suffix in {".md", ".png", ".svg"} or path.stat().st_size > 64_000


def between(page: str, target: str) -> str:
    """The relative link from one path of the site to another."""
    here = PurePosixPath(page).parent.parts
    there = PurePosixPath(target).parts
    shared = 0
    while shared < min(len(here), len(there) - 1) and here[shared] == there[shared]:
        shared += 1
    return "/".join([".."] * (len(here) - shared) + list(there[shared:]))
