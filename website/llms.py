"""`llms.txt` and `llms-full.txt`: the pages for programs that read text.

The first lists the pages as the navigation has them, each with its first sentence (llmstxt.org).
The second holds all of them. Each page is beside its HTML as Markdown, too.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from website.stage import CONFIGURATION

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SENTENCE = re.compile(r"(?:The \w+\. )?(.+?[.:!?])(?:\s|$)", re.DOTALL)
"""One that only says which part of the page begins is no sentence."""
MARKS = re.compile(r"\*\*|\[([^]]*)\]\([^)]*\)")


def project() -> dict[str, Any]:
    """The site's configuration."""
    return tomllib.loads(CONFIGURATION.read_text(encoding="utf-8"))["project"]


def navigation(entries: list[dict[str, Any]], chapter: str = "") -> Iterator[tuple[str, str, str]]:
    """Chapter, title and path of each page, in order."""
    for entry in entries:
        for title, below in entry.items():
            if isinstance(below, str):
                yield chapter, title, below
            else:
                yield from navigation(below, chapter or title)


def first_sentence(page: str) -> str:
    """What the page says first, without marks and links."""
    paragraphs = re.split(r"\n\s*\n", re.sub(r"(?m)^#.*$", "\n", page))
    opening = next((each for each in map(str.strip, paragraphs) if re.match(r"[\w*\[]|`(?!`)", each)), "")
    text = " ".join(MARKS.sub(r"\1", opening).split())
    found = SENTENCE.match(text)
    return found[1] if found else text


def write(site: Path, files: dict[str, str | Path]) -> None:
    """Both files and the Markdown of all pages, into the site."""
    said, chapter = [f"# {project()['site_name']}\n\n> {project()['site_description']}\n"], ""
    full = []
    for part, title, path in navigation(project()["nav"]):
        text = str(files[path])
        if part != chapter:
            said.append(f"\n## {part}\n")
        chapter = part
        said.append(f"- [{title}]({path}): {first_sentence(text)}")
        full.append(text)
        (site / path).write_text(text, encoding="utf-8")
    (site / "llms.txt").write_text("\n".join(said) + "\n", encoding="utf-8")
    (site / "llms-full.txt").write_text("\n\n".join(full), encoding="utf-8")
