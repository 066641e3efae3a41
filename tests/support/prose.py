"""Measures how many words sentences have, in Markdown pages and in docstrings.

`PYTHONPATH=tests python -m support.prose [CHECKOUT]` prints the table. `--long 40` prints every
sentence of more than 40 words, with its place. A code span, a link and a name count as one word
each. Colon and semicolon end no sentence. Code and drawings are left out.
"""

import argparse
import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
PAGES = {"pages": ("docs/*.md", "README.md", "CONTRIBUTING.md"), "guide": ("docs/guide/*.md",)}
SOURCES = (
    "core/src",
    "services/coordinator/src",
    "clients/http/src",
    "clients/reader/src",
    "clients/spark/src",
    "testbed/src",
    "examples",
    "benchmarks",
    "tests",
)
NOT_OURS = {"build", "__pycache__", ".venv"}

FENCE = re.compile(r"^\s*(```|~~~)")
ITEM = re.compile(r"^\s*([*-]|\d+\.)\s+")
CODE = re.compile(r"`+[^`]*`+")
PICTURE = re.compile(r"!\[[^]]*\]\([^)]*\)")
LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
DRAWN = re.compile("[─━│┌└├┐┘┤┬┴╭╰▶▷●]")
# A sentence ends at a full stop, a question mark or an exclamation mark, if a blank and a capital
# letter, a digit or a code span follow. Short forms and single letters end none.
END = re.compile(r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\b[A-Za-z]\.)[.!?][)\"'*_]*\s+(?=[A-ZÄÖÜ0-9\"'(*_†\[])")
SPAN = "†"  # stands for a code span


@dataclass(frozen=True)
class Sentence:
    """`place` is `file:line` of the paragraph that the sentence is in."""

    place: str
    text: str

    @property
    def words(self) -> int:
        """Its words: what blanks part and holds a letter, a digit or a code span."""
        return sum(1 for word in self.text.split() if re.search(r"[^\W_]|†", word))


@dataclass(frozen=True)
class Measured:
    """The sentences of one heading of the table, and how long they are."""

    name: str
    sentences: tuple[Sentence, ...]

    def at(self, part: float) -> int:
        """How many words the sentence has below which `part` of all of them are."""
        ranked = sorted(each.words for each in self.sentences)
        return ranked[min(len(ranked) - 1, int(part * len(ranked)))] if ranked else 0


def sentences(place: str, paragraph: str) -> Iterator[Sentence]:
    """The sentences of one paragraph."""
    text = LINK.sub(r"\1", PICTURE.sub("", CODE.sub(SPAN, paragraph)))
    for each in END.split(" ".join(text.split())):
        if re.search(r"[^\W\d_]{2}", each):
            yield Sentence(place, each)


def of_page(name: str, text: str) -> Iterator[Sentence]:
    """The sentences of a Markdown page's paragraphs and lists."""
    for line, paragraph in _unfenced(text):
        if not paragraph.startswith(("    ", "#", "|")):
            yield from sentences(f"{name}:{line}", ITEM.sub("", paragraph))


def of_tables(name: str, text: str) -> Iterator[Sentence]:
    """The sentences in the cells of a Markdown page's tables."""
    for line, row in _unfenced(text):
        if row.startswith("|"):
            for cell in CODE.sub(SPAN, row).strip("|").split("|"):
                yield from sentences(f"{name}:{line}", cell)


def of_module(name: str, source: str) -> Iterator[Sentence]:
    """The sentences of a module's docstrings."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for _, paragraph in _paragraphs(ast.get_docstring(node) or ""):
            if not DRAWN.search(paragraph) and not paragraph.startswith("    "):
                yield from sentences(f"{name}:{node.body[0].lineno}", ITEM.sub("", paragraph))


def measured(checkout: Path) -> list[Measured]:
    """The table's headings: the pages, their tables, and the docstrings of each source folder."""
    pages = {
        f"{name}, {part}": [each for path in _found(checkout, *patterns) for each in read(*_text(path, checkout))]
        for name, patterns in PAGES.items()
        for part, read in {"text": of_page, "tables": of_tables}.items()
    }
    docstrings = {
        f"docstrings, {folder}": [
            each for path in _found(checkout, f"{folder}/**/*.py") for each in of_module(*_text(path, checkout))
        ]
        for folder in SOURCES
    }
    return [Measured(name, tuple(those)) for name, those in {**pages, **docstrings}.items()]


def _unfenced(text: str) -> Iterator[tuple[int, str]]:
    """The paragraphs outside of ``` and ```."""
    fenced = False
    for line, paragraph in _paragraphs(text):
        if FENCE.match(paragraph):
            fenced = not fenced
        elif not fenced:
            yield line, paragraph


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs with their first line. A heading, a row of a table and a fence are one each."""
    begun, lines = 0, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if lines and (not line.strip() or _alone(line) or ITEM.match(line) or _alone(lines[0])):
            yield begun, "\n".join(lines)
            lines = []
        if line.strip():
            begun = begun if lines else number
            lines.append(line)


def _alone(line: str) -> bool:
    return line.startswith(("|", "#")) or FENCE.match(line) is not None


def _found(checkout: Path, *patterns: str) -> Iterator[Path]:
    for pattern in patterns:
        yield from (
            each for each in sorted(checkout.glob(pattern)) if not NOT_OURS & set(each.relative_to(checkout).parts)
        )


def _text(path: Path, checkout: Path) -> tuple[str, str]:
    return str(path.relative_to(checkout)), path.read_text(encoding="utf-8")


def main() -> None:
    """Prints the table, or the sentences that are too long."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("checkout", nargs="?", type=Path, default=HERE)
    parser.add_argument("--long", type=int, help="print the sentences of more words than this instead")
    asked = parser.parse_args()
    table = measured(asked.checkout.resolve())
    if asked.long is not None:
        for each in (each for part in table for each in part.sentences if each.words > asked.long):
            print(f"{each.place}: {each.words}: {each.text}")
        return
    print("| | sentences | words, median | p90 | most |\n|---|---|---|---|---|")
    for part in table:
        print(f"| {part.name} | {len(part.sentences)} | {part.at(0.5)} | {part.at(0.9)} | {part.at(1.0)} |")


if __name__ == "__main__":
    main()
