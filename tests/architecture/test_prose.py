"""Words: sentences stay short, and names of tests are whole claims."""

import ast
import re
from collections.abc import Iterator

import pytest

from support.imports import CHECKOUT
from support.prose import Measured, measured, of_module, of_page, of_tables, sentences

# Nine sentences of ten have at most so many words. CONTRIBUTING asks for 25 at most as a rule. The
# guide is for readers whose mother tongue is another one.
MOST_WORDS = 22
MOST_WORDS_OF_THE_GUIDE = 20
LONGEST_OF_A_PAGE = 32
"""Of the text of pages; a cell of a table may be a list."""
IN_MID_SENTENCE = re.compile(r"test_(nor|and|but|or|of|who|whom|whose|which|that|so|yet|than)_")


def test_most_sentences_of_pages_and_docstrings_are_short() -> None:
    parts = measured(CHECKOUT)
    too_long = {part.name: part.at(0.9) for part in parts if part.at(0.9) > _most(part)}

    assert len(parts) > 8
    assert all(part.sentences for part in parts)
    assert too_long == {}, "`PYTHONPATH=tests python -m support.prose --long 25` lists them"


def _most(part: Measured) -> int:
    return MOST_WORDS_OF_THE_GUIDE if part.name.startswith("guide") else MOST_WORDS


def test_no_sentence_of_a_page_is_very_long() -> None:
    pages = [part for part in measured(CHECKOUT) if part.name in ("pages, text", "guide, text")]

    assert len(pages) == 2
    assert [each for part in pages for each in part.sentences if each.words > LONGEST_OF_A_PAGE] == []


def test_no_name_of_a_test_begins_in_mid_sentence() -> None:
    assert [f"{path}::{name}" for path, name in _tests() if IN_MID_SENTENCE.match(name)] == []


def _tests() -> Iterator[tuple[str, str]]:
    for path in sorted((CHECKOUT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield str(path.relative_to(CHECKOUT)), node.name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Two words. Three more words.", [2, 3]),
        ("It waits, e.g. for Kafka; then it reads.", [8]),
        ("Up to `a b c` it reads [some pages](docs/why.md#what-spark-does).", [7]),
        ("A plan (*T*) ends at 3.5 s. `h(s)` bounds it!", [7, 3]),
        ("1.25 · 3 = 3.75", []),
    ],
)
def test_a_sentence_has_as_many_words_as_a_reader_counts(text: str, words: list[int]) -> None:
    assert [each.words for each in sentences("page:1", text)] == words


def test_code_headings_and_cells_are_not_sentences_of_a_page() -> None:
    text = "# A heading\nOne line\nand another.\n\n```\nno words here\n```\n* An item.\n\n"
    page = f"{text}| a cell | and one more |\n|---|---|\n"

    assert [(each.place, each.words) for each in of_page("p", page)] == [("p:2", 4), ("p:8", 2)]
    assert [each.text for each in of_tables("p", page)] == ["a cell", "and one more"]


def test_docstrings_are_measured_without_their_drawings_and_examples() -> None:
    source = '"""A rule.\n\n    x = 1\n\na ─▶ b\n"""\ndef f():\n    """Says one thing."""\n    "no docstring"\n'

    assert [each.text for each in of_module("m", source)] == ["A rule.", "Says one thing."]
