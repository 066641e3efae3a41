"""A page as a forge shows it, made a page as Zensical reads it.

A forge reads GitHub's Markdown, Zensical reads Python-Markdown. They differ where this module acts:
a list, a table and a block of code need an empty line before them, what is nested is four blanks
further in, and a bar in a code span of a table is written without a backslash. The comments that
tell tests about blocks are left out. Links get the paths of the site.
"""

import re
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path

from website.pages import between, place

LINK = re.compile(r"""(?:(?<=\]\()|(?<=src=")|(?<=srcset="))([^)\s"]+)(?=[)"])""")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
COMMENT = re.compile(r"<!-- .* -->")
FENCE = re.compile(r"\s*(```|~~~)")
ITEM = re.compile(r"(?P<blanks> *)(?P<mark>[*-]|\d+\.) +(?=\S)")
ELSEWHERE = ("http://", "https://", "mailto:")
NESTED = 4


class Kind(Enum):
    """What a line is: a fence opens and closes a block of code."""

    TEXT, OPENS, CODE, CLOSES = range(4)


def for_the_site(text: str, origin: Path, linked: Callable[[Path], None]) -> str:
    """The page's text for the site. `linked` is called for each file that it links to.

    Raises ValueError where a link leads out of the repository.
    """
    here = place(origin)

    def moved(found: re.Match[str]) -> str:
        path, _, anchor = found[1].partition("#")
        if found[1].startswith(ELSEWHERE) or not path:
            return found[1]
        file = (origin.parent / path).resolve()
        linked(file)
        return between(here, place(file)) + (f"#{anchor}" if anchor and file.suffix == ".md" else "")

    lines = ((kind, _outside_of_code(line, moved) if kind is Kind.TEXT else line) for kind, line in _lines(text))
    return "\n".join(_laid_out(lines)) + "\n"


def _outside_of_code(line: str, moved: Callable[[re.Match[str]], str]) -> str:
    """The line with its links moved, but not those that a code span shows."""
    spans = [found[0] for found in CODE.finditer(line)]
    if line.startswith("|"):
        spans = [span.replace("\\|", "|") for span in spans]
    shown = iter(spans)
    return re.sub("\0", lambda _: next(shown), LINK.sub(moved, CODE.sub("\0", line)))


def _lines(text: str) -> Iterator[tuple[Kind, str]]:
    """Each line and what it is. Comments are gone."""
    fenced = False
    for line in text.splitlines():
        if FENCE.match(line):
            fenced = not fenced
            yield (Kind.OPENS if fenced else Kind.CLOSES), line
        elif fenced:
            yield Kind.CODE, line
        elif not COMMENT.fullmatch(line):
            yield Kind.TEXT, line


def _laid_out(lines: Iterator[tuple[Kind, str]]) -> Iterator[str]:
    """With empty lines where blocks begin, and nested blocks as far in as Python-Markdown asks."""
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
            depths = [*(depth for depth in depths if depth < len(item["blanks"])), len(item["blanks"])]
            by = NESTED * len(depths) - item.end()
            line = f"{' ' * NESTED * (len(depths) - 1)}{item['mark']} {line[item.end() :]}"
        elif by and line.startswith(" "):
            line = " " * by + line if by > 0 else line[-by:]
        before = line.strip()
        yield line
