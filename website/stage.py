"""Writes the pages of the site into build/pages, and Zensical's configuration beside them:
`python -m website.stage`. What is there already and unchanged is not written again.
"""

import shutil
import sys
from pathlib import Path

from website.markdown import for_the_site
from website.pages import ASSETS, DOCS, ROOT, is_copied, own_pages, place
from website.reference import completed
from website.sources import page_of

BUILD = ROOT / "build"
STAGED = BUILD / "pages"
CONFIGURATION = Path(__file__).with_name("zensical.toml")


def staged() -> dict[str, str | Path]:
    """Every file of the site's source by its path: its text, or the file that it is a copy of."""
    linked: set[Path] = set()
    files: dict[str, str | Path] = {
        there: for_the_site(completed(path.read_text(encoding="utf-8")), path, linked.add)
        for path, there in own_pages().items()
    }
    files |= {place(path): path for path in DOCS.rglob("*") if path.is_file() and path.suffix != ".md"}
    files |= {there: Path(__file__).with_name(name) for name, there in ASSETS.items()}
    for path in sorted(linked - own_pages().keys()):
        if not path.is_relative_to(DOCS):
            files[place(path)] = path if path.is_file() and is_copied(path) else page_of(path)
    return files


def write(files: dict[str, str | Path]) -> None:
    """Lays them out, and removes what is no longer among them."""
    for path in sorted(STAGED.rglob("*")) if STAGED.exists() else ():
        if path.is_file() and path.relative_to(STAGED).as_posix() not in files:
            path.unlink()
    for there, given in files.items():
        target = STAGED / there
        data = given.encode() if isinstance(given, str) else given.read_bytes()
        if not target.exists() or target.read_bytes() != data:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    shutil.copyfile(CONFIGURATION, BUILD / CONFIGURATION.name)


def main() -> None:
    """Called from the command line."""
    files = staged()
    write(files)
    print(f"{len(files)} files of the site in {STAGED.relative_to(ROOT)}", file=sys.stderr)


if __name__ == "__main__":
    main()
