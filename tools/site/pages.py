"""A Markdown extension that lets the site show the pages as a forge shows them.

A forge reads GitHub's Markdown, the site reads Python-Markdown. They differ where this module acts:
a list, a table and a block of code need an empty line before them, a nested block is four spaces
further in, and a bar in a code span of a table has no backslash. A link to a file outside of docs/
becomes a link to the repository, and plain text while zensical.toml has no `repo_url`. Comments
that are for the tests are left out, and two of them become what the code says of itself: the
command line and the OpenAPI document.
"""

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path, PurePosixPath
from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor
from markdown.treeprocessors import Treeprocessor
from tools.site import commands, rest
from zensical.extensions.context import ContextPreprocessor

ROOT = Path(__file__).resolve().parents[2]
HOME = "README.md"
"""The page of the repository that docs/index.md includes."""

MADE = {"<!-- from: the commands of lockgate -->": commands.text, "<!-- from: the OpenAPI document -->": rest.text}
LINK = re.compile(r"""(?:(?<=\]\()|(?<=src=")|(?<=srcset=")|(?<=href="))([^)\s"]+)(?=[)"])""")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
COMMENT = re.compile(r"<!-- .* -->")
FENCE = re.compile(r"\s*(```|~~~)")
ITEM = re.compile(r"(?P<spaces> *)(?P<mark>[*-]|\d+\.) +(?=\S)")
NESTED = 4


class Kind(Enum):
    """What a line is: a fence opens and closes a block of code."""

    TEXT, OPENS, CODE, CLOSES = range(4)


class Pages(Preprocessor):
    """Rewrites the lines of a page before any other extension but snippets reads them."""

    def run(self, lines: list[str]) -> list[str]:
        """Return the lines as Python-Markdown needs them."""
        context = ContextPreprocessor.from_markdown(self.md)
        page, repository = (context.page.path, context.config.get("repo_url") or "") if context else ("index.md", "")
        made = [part for line in lines for part in (MADE[line]().splitlines() if line in MADE else [line])]
        shown = ((kind, _text(line, page, repository) if kind is Kind.TEXT else line) for kind, line in _lines(made))
        return list(_laid_out(shown))


class SourcesAsText(Treeprocessor):
    """Takes the address from links to files of a repository that has none yet."""

    def run(self, root: Element) -> None:
        """Remove each `href` that `place` made without a repository."""
        for link in root.iter("a"):
            if link.get("href", "").startswith(("/blob/", "/tree/")):
                del link.attrib["href"]


class PagesExtension(Extension):
    """Registers the processors."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (Python-Markdown calls it so)
        """Put `Pages` after snippets (32), which brings in lines, and before everything else. Put
        `SourcesAsText` after the inline patterns (20), which make the links.
        """
        md.preprocessors.register(Pages(md), "pages", 31)
        md.treeprocessors.register(SourcesAsText(md), "sources as text", 19)


def makeExtension(**options: object) -> PagesExtension:  # noqa: N802 (Python-Markdown calls it so)
    """Return the extension."""
    return PagesExtension(**options)


def place(target: str, page: str, repository: str) -> str:
    """Return where a link of `page` leads: to a page of the site, or to a file of the repository.

    Raises ValueError if the link leads out of the repository.
    """
    path, _, anchor = target.partition("#")
    if re.match(r"\w+:", target) or not path:
        return target
    home = ROOT if page == "index.md" else (ROOT / "docs" / page).parent
    file = (home / path).resolve()
    fragment = f"#{anchor}" if anchor else ""
    if file == ROOT / HOME:
        return between(page, "index.md") + fragment
    if file.is_relative_to(ROOT / "docs"):
        return between(page, file.relative_to(ROOT / "docs").as_posix()) + fragment
    return f"{repository}/{'tree' if file.is_dir() else 'blob'}/main/{file.relative_to(ROOT).as_posix()}{fragment}"


def between(page: str, target: str) -> str:
    """Return the relative link from one page to another."""
    here, there = PurePosixPath(page).parent.parts, PurePosixPath(target).parts
    shared = 0
    while shared < min(len(here), len(there) - 1) and here[shared] == there[shared]:
        shared += 1
    return "/".join([".."] * (len(here) - shared) + list(there[shared:]))


def _text(line: str, page: str, repository: str) -> str:
    """Return the line with its links moved, but not those that a code span shows."""
    spans = [found[0] for found in CODE.finditer(line)]
    if line.startswith("|"):
        spans = [span.replace("\\|", "|") for span in spans]
    shown = iter(spans)
    moved = LINK.sub(lambda found: place(found[1], page, repository), CODE.sub("\0", line))
    return re.sub("\0", lambda _: next(shown), moved)


def _lines(lines: list[str]) -> Iterator[tuple[Kind, str]]:
    """Yield each line and what it is, without comments."""
    fenced = False
    for line in lines:
        if FENCE.match(line):
            fenced = not fenced
            yield (Kind.OPENS if fenced else Kind.CLOSES), line
        elif fenced:
            yield Kind.CODE, line
        elif not COMMENT.fullmatch(line):
            yield Kind.TEXT, line


def _laid_out(lines: Iterator[tuple[Kind, str]]) -> Iterator[str]:
    """Add empty lines where blocks begin, and indent nested blocks as Python-Markdown needs it."""
    depths: list[int] = []  # how far in the items are that a line belongs to
    by, before = 0, ""
    for kind, line in lines:
        item = ITEM.match(line) if kind is Kind.TEXT else None
        if not item and depths and line.strip() and not line.startswith(" ") and (kind is Kind.OPENS or not before):
            depths, by = [], 0
        if before and (
            kind is Kind.OPENS or (item and not depths) or (line.startswith("|") and not before.startswith("|"))
        ):
            yield ""
        if item:
            depths = [*(depth for depth in depths if depth < len(item["spaces"])), len(item["spaces"])]
            by = NESTED * len(depths) - item.end()
            line = f"{' ' * NESTED * (len(depths) - 1)}{item['mark']} {line[item.end() :]}"
        elif by and line.startswith(" "):
            line = " " * by + line if by > 0 else line[-by:]
        before = line.strip()
        yield line
