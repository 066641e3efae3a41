"""Code of README and docs can be pasted: nothing is left out of it, and what it names is there.

`test_pages_that_run.py` runs it.
"""

import ast
import builtins
import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from benchmarks.__main__ import found
from click import ClickException

from lockgate_cli.__main__ import cli
from support.code_of_pages import OF_PACKAGES, PAGES, Block, all_blocks, blocks, setup_of
from support.imports import CHECKOUT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LANGUAGES = {"python", "bash", "json", "toml", "yaml", "properties", "text"}
NOT_RUN = {
    "docs/quickstart.md": ["needs Docker; the test creates the topic in a Kafka of its own"],
    "docs/guide/connect.md": [
        "it starts servers",
        *3 * ["it needs a Connect server with the jar"],
        "it needs a Connect server",
    ],
    "docs/guide/measure.md": [
        "needs a job of your own; tests/spark/test_conf.py and test_observed_report.py have its two options"
    ],
    "docs/guide/python-consumers.md": [
        "it needs a coordinator and a Kafka; examples/enricher.py is the whole of it, and tests/e2e/test_enricher.py "
        "runs that",
        "it needs a coordinator and a Kafka; tests/reader/group/test_splits_from_kafka.py runs the same",
        "a script with arguments; tests/integration/test_mixed_groups.py runs it as it stands",
    ],
    "docs/operations.md": [
        "needs Docker; tests/compose breaks the same stack",
        "needs a cluster; tests/deploy has the chart",
        "needs a Redis of your own; tests/coordinator/store/test_connections.py makes this user",
    ],
    "docs/compatibility.md": [
        "needs a cluster; tests/integration/test_cluster.py ships and submits so",
        "needs a cluster; tests/deploy/test_spark_on_kubernetes.py has its confs",
    ],
    "docs/tutorial.md": [
        "needs Docker; the test creates the topics in a Kafka of its own",
        "needs the archive; the test creates the topics in a Kafka of its own",
    ],
}
"""Each block that no test of pages runs, with the reason that its page gives."""

CONNECTOR = re.compile(r"spark-sql-kafka-0-10_[\w.]+:[\w.]+")
TARGET = re.compile(r"^([\w-]+):", re.MULTILINE)
WHERE = {
    "lockgate-spark": "./clients/spark",
    "lockgate-coordinator": "./services/coordinator",
    "lockgate-cli": "./clients/cli",
}
PATH_IN_INSTALL = re.compile(r"^(\./[\w/]+)(?:\[([\w,]+)\])?$")


def written_in_python() -> list[Block]:
    return [block for block in all_blocks("python") if not block.interactive]


def test_every_block_says_its_language() -> None:
    assert [block.place for block in all_blocks() if block.language not in LANGUAGES] == []


def test_every_fence_of_a_page_is_read_as_a_block() -> None:
    fences = {page: len(re.findall(r"^ *```", page.read_text(encoding="utf-8"), re.MULTILINE)) for page in PAGES}

    assert {page: 2 * len(blocks(page)) for page in PAGES} == fences


def test_nothing_is_left_out_of_code() -> None:
    code = list(all_blocks("python", "bash", "json", "toml", "properties"))

    assert len(code) > 30
    assert [block.place for block in code if "…" in block.text and not block.interactive] == []


def test_the_blocks_that_do_not_run_are_the_ones_listed_here() -> None:
    found: dict[str, list[str]] = {}
    for block in all_blocks():
        if block.reason:
            found.setdefault(str(block.page.relative_to(CHECKOUT)), []).append(block.reason)

    assert found == NOT_RUN


@pytest.mark.parametrize("block", written_in_python(), ids=lambda block: block.place)
def test_a_block_has_its_imports(block: Block) -> None:
    earlier = [other for other in blocks(block.page) if other.language == "python" and other.line < block.line]
    shared = setup_of(block.page)
    before = set().union(*(set(bound(ast.parse(other.text))) for other in earlier + shared if not other.interactive))
    tree = ast.parse(block.text)

    assert used(tree) - set(bound(tree)) - before - set(dir(builtins)) - {"spark"} == set()
    imported = set().union(*(set(imports(ast.parse(other.text))) for other in earlier if not other.interactive))
    of_setup = set().union(*(set(imports(ast.parse(other.text))) for other in shared))
    assert (used(tree) & imported) - set(bound(tree)) - of_setup == set(), "import it in this block as well"


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((name.asname or name.name).partition(".")[0] for name in node.names)


def bound(tree: ast.AST) -> Iterator[str]:
    """Names that the code gives a value."""
    yield from imports(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.arg):
            yield node.arg
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def used(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


@pytest.mark.parametrize("block", list(all_blocks("json", "toml")), ids=lambda block: block.place)
def test_a_block_of_data_is_whole(block: Block) -> None:
    assert {"json": json.loads, "toml": tomllib.loads}[block.language](block.text)


COMMANDS = [
    pytest.param(line, id=f"{block.place} {line.split()[0]}")
    for block in all_blocks("bash")
    if not block.reason
    for line in block.commands()
]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_a_page_is_there_with_its_options(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, *arguments = shlex.split(line, comments=True)
    if command == "lockgate":
        monkeypatch.chdir(tmp_path)
        for file in (each for each in arguments if each.endswith((".yaml", ".json"))):
            Path(file).touch()
    {"pip": installs, "make": makes, "lockgate": takes, "curl": runs}[command](arguments)


def installs(arguments: list[str]) -> None:
    """Each folder is a package of the checkout, and has the extras; so is each name, where wheels
    are looked for.
    """
    assert arguments.pop(0) == "install"
    if arguments[0] == "--find-links":
        assert arguments[1] == "build/dist", "make dist puts the wheels there"
        arguments = [
            WHERE.get(each.partition("[")[0], each) + "".join(each.partition("[")[1:]) for each in arguments[2:]
        ]
    for argument in arguments:
        found = PATH_IN_INSTALL.match(argument)
        assert found is not None, argument
        project = tomllib.loads((CHECKOUT / found[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert set(filter(None, (found[2] or "").split(","))) <= set(project.get("optional-dependencies", {}))


def makes(arguments: list[str]) -> None:
    """The Makefile has the target, or there is a benchmark of that name."""
    benchmark = arguments[0].removeprefix("bench-")
    there = {*found(CHECKOUT / "benchmarks"), *found(CHECKOUT / "benchmarks/more")}
    assert arguments[0] in TARGET.findall((CHECKOUT / "Makefile").read_text(encoding="utf-8")) or benchmark in there


def takes(arguments: list[str]) -> None:
    """The command line of the coordinator takes the subcommand and all its options."""
    commands = typer.main.get_command(cli).commands  # type: ignore[attr-defined]
    assert arguments[0] in commands
    try:
        commands[arguments[0]].make_context(arguments[0], arguments[1:])
    except ClickException as refused:
        pytest.fail(f"lockgate {arguments[0]}: {refused.format_message()}")


def runs(arguments: list[str]) -> None:
    """`test_pages_that_run.py` calls it."""
    assert arguments


def test_every_page_names_the_same_kafka_connector() -> None:
    pages = [page for page in PAGES if page not in OF_PACKAGES]  # the client's has a table of all
    text = {page.name: set(CONNECTOR.findall(page.read_text(encoding="utf-8"))) for page in pages}
    tried = tomllib.loads((CHECKOUT / "clients/spark/pyproject.toml").read_text(encoding="utf-8"))

    assert set().union(*text.values()) == {"spark-sql-kafka-0-10_2.13:4.2.0"}
    assert tried["project"]["optional-dependencies"]["pyspark"] == ["pyspark>=3.5,<4.3"]
