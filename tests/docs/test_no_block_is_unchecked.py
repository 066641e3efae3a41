"""Every block of code on a page is run, read, compared, or says why not: also one that is new.

What runs are Python and `curl` (`test_pages_that_run.py`), prompts (here) and examples that a page
calls (here). Commands are looked up (`test_code_of_pages.py`), data is parsed. A block of plain
text says above itself what it is (`support.code_of_pages`).
"""

import ast
import configparser
import doctest
import functools
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from lockgate_spark.conf import PREFIX
from support.code_of_pages import PAGES, Block, all_blocks, blocks
from support.imports import CHECKOUT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DRAWN = re.compile("[─━│┌└├┐┘┤┬┴▶▷●╳]")
# What a message fills in: numbers, times, names in groups and topics, units.
FILLED_IN = re.compile(
    r"\S*\d\S*|(?<!')\b(?:orders|payments|clicks|checkout|UTC|min|ms|s|h|d)\b(?!')"
    r"|\"[^\"]*\"|'[^' ]*'|\([^)]*\)|the fields .*?\.|(?<=\w)\. "
)
CALLED = ("pip", "make", "lockgate", "curl")


def properties(text: str) -> dict[str, str]:
    """As Spark reads spark-defaults.conf: key and value, with blanks between."""
    return dict(line.split(None, 1) for line in text.splitlines() if line.strip() and not line.startswith("#"))  # type: ignore[misc]


PARSED: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
    "properties": properties,
    "ini": lambda text: configparser.ConfigParser().read_string(text),
}


def unchecked(block: Block) -> str:
    """What is missing from the block; empty where it is checked, or says why not."""
    if block.reason or block.language in ("python", *PARSED):
        return ""
    if block.language == "bash":
        strange = [line for line in block.commands() if line.split()[0] not in CALLED]
        later = [line for line in block.commands()[1:] if line.startswith("curl")]
        alone = not later or block.commands()[0].startswith("curl")
        return f"no test knows {strange[0]!r}" if strange else "" if alone else "begin the block with its curl"
    if block.comment in ("output", "drawing") or block.text.startswith("$ python examples/"):
        return ""
    kinds = ("words of", "tested by", "not compared")
    return "" if any(map(block.noted, kinds)) else f"say above it what it is: {', '.join(kinds)}, output or drawing"


def test_no_block_of_any_page_is_unchecked() -> None:
    assert {block.place: missing for block in all_blocks() if (missing := unchecked(block))} == {}


@pytest.mark.parametrize(
    ("language", "text", "comment"),
    [
        ("text", "orders waits\n", ""),
        ("bash", "kubectl get pods\n", ""),
        ("bash", "make x\ncurl y\n", ""),
        ("sql", "", ""),
    ],
)
def test_a_new_block_that_nothing_checks_is_noticed(language: str, text: str, comment: str) -> None:
    assert unchecked(Block(CHECKOUT / "README.md", 1, language, text, comment))


@pytest.mark.parametrize("block", [pytest.param(each, id=each.place) for each in all_blocks(*PARSED)])
def test_a_block_of_data_is_parsed(block: Block) -> None:
    assert PARSED[block.language](block.text)


def test_the_options_in_conf_that_pages_show_are_there() -> None:
    shown = {key for block in all_blocks("properties") for key in properties(block.text) if key.startswith(PREFIX)}
    known = " ".join(constants("clients/spark/src")) + " ".join(constants("clients/http/src"))

    assert shown
    assert {key for key in shown if _snake(key.rpartition(".")[2]) not in known} == set()


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", name)


PROMPTS = sorted({block.page for block in all_blocks("python") if block.interactive})


@pytest.mark.parametrize("page", PROMPTS, ids=lambda page: page.name)
def test_what_a_page_types_at_a_prompt_answers_as_it_says(page: Path) -> None:
    failed, tried = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert (failed, tried >= page.read_text(encoding="utf-8").count("\n>>> ")) == (0, True)


EXAMPLES = [block for block in all_blocks("text") if block.text.startswith("$ python examples/")]


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: block.place)
def test_an_example_prints_what_its_page_shows(block: Block) -> None:
    command, _, shown = block.text.partition("\n")
    arguments = [sys.executable, *command.split()[2:]]
    done = subprocess.run(arguments, cwd=CHECKOUT, capture_output=True, text=True, timeout=300, check=True)
    assert [line.rstrip() for line in shown.splitlines()] == [line.rstrip() for line in done.stdout.splitlines()]


def quoted(block: Block) -> Iterator[str]:
    """The words of a message, without what it fills in: parts of three words and more."""
    for part in FILLED_IN.split(block.text):
        words = re.sub(r"^\W*\.\w+\W+", "", " ".join(part.split())).strip(" ,;:.")
        if words.count(" ") > 1:
            yield words


@functools.cache
def constants(folder: str) -> tuple[str, ...]:
    """Every text in the sources of a folder, each with what is filled in left out."""
    found = []
    for path in sorted((CHECKOUT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(re.sub(r"%[sd]|\s+", " ", node.value))
    return tuple(found)


@pytest.mark.parametrize(
    "block", [each for each in all_blocks("text") if each.noted("words of")], ids=lambda block: block.place
)
def test_a_message_that_a_page_shows_has_the_words_of_the_sources(block: Block) -> None:
    """But for what the sources put together of shorter parts."""
    sources = constants(block.noted("words of"))
    parts = list(quoted(block))
    unknown = [part for part in parts if not any(part in text for text in sources)]

    assert len(" ".join(unknown)) <= len(" ".join(parts)) / 2, unknown


@pytest.mark.parametrize(
    "block", [each for each in all_blocks() if each.noted("tested by")], ids=lambda block: block.place
)
def test_the_test_that_a_block_names_reads_its_page(block: Block) -> None:
    assert block.page.name in (CHECKOUT / block.noted("tested by")).read_text(encoding="utf-8")


def test_a_drawing_is_drawn() -> None:
    assert [block.place for block in all_blocks() if block.comment == "drawing" and not DRAWN.search(block.text)] == []


def test_every_output_follows_the_code_that_prints_it() -> None:
    for page in PAGES:
        of_page = blocks(page)
        before = [of_page[at - 1] for at, block in enumerate(of_page) if block.comment == "output" and at]
        assert [block.place for block in before if block.language != "python" or block.reason] == [], page.name
