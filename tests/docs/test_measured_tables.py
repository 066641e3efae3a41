"""The tables that `make bench` rewrites, and the figures that other pages repeat from them."""

import importlib
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks import figures
from benchmarks.__main__ import found
from benchmarks.figures import PAGE, Block, blocks, cells, copied, last_table, renew, rewritten
from benchmarks.tables import markdown, spread

from support.imports import CHECKOUT

BENCHMARKS = found(CHECKOUT / "benchmarks") | found(CHECKOUT / "benchmarks/more")
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]
COMMAND = re.compile(r"`make bench-([a-z-]+)[^`]*`")
FIGURE = re.compile(r"\d[\d,.]*\d|\d")
TABLES = list(blocks(PAGE.read_text(encoding="utf-8")))


@pytest.mark.parametrize("block", TABLES, ids=[each.run for each in TABLES])
def test_a_marked_table_has_the_columns_that_its_benchmark_prints(block: Block) -> None:
    path = BENCHMARKS[block.name].relative_to(CHECKOUT).with_suffix("")
    module = importlib.import_module(".".join(path.parts))
    if not hasattr(module, "COLUMNS"):
        module = importlib.import_module(f"{module.__package__}.{'live' if '--live' in block.run else 'table'}")
    table = last_table(block.body)
    assert table is not None
    assert [cell.strip() for cell in table.splitlines()[0].split("|")[1:-1]] == list(module.COLUMNS)
    assert block.command in block.body


def test_a_figure_that_a_page_repeats_is_that_of_its_benchmark() -> None:
    unknown = []
    for page in PAGES:
        for line in page.read_text(encoding="utf-8").splitlines():
            named = COMMAND.search(line)
            if not line.startswith("|") or page == PAGE or named is None:
                continue
            measured = "".join(block.body for block in TABLES if block.name == named[1])
            told = FIGURE.findall("|".join(COMMAND.sub("", line).split("|")[2:]))
            unknown += [f"{page.name}: {figure} of {named[0]}" for figure in told if figure not in measured]
    assert not unknown


PAGE_OF_TWO = """\
<!-- bench read --records 6 -->
|  | rows/s |
| --- | --- |
| plain | 900 (800–1,000) |
| aligned | 90 |

*old*
<!-- /bench -->
Between.
<!-- bench plan -->
| partitions | ms |
| --- | --- |
| 8 | 5 |
<!-- /bench -->
"""
NEW = markdown(("", "rows/s"), [("plain", "700 (600–800)"), ("aligned", "70")])


def test_a_table_is_rewritten_in_its_place_alone() -> None:
    read, plan = blocks(PAGE_OF_TWO)
    after = rewritten(PAGE_OF_TWO, read, NEW)
    assert [each.run for each in blocks(after)] == ["read --records 6", "plan"]
    assert [each.body for each in blocks(after)] == [NEW, plan.body]
    assert "Between." in after
    assert read.command == 'make bench-read ARGS="--records 6"'


def test_a_figure_is_copied_to_the_lines_that_name_its_command() -> None:
    read, _ = blocks(PAGE_OF_TWO)
    of_read = 'rate: 900 (800–1,000), aligned 90 | `make bench-read ARGS="--records 6"`\n'
    of_plan = "900 (800–1,000) | `make bench-plan`\n"
    after = of_read.replace("900 (800–1,000)", "700 (600–800)").replace("aligned 90", "aligned 70")
    assert copied(of_read + of_plan, read, NEW) == after + of_plan


@pytest.mark.parametrize(("table", "renewed"), [(NEW, True), (None, False)])
def test_a_benchmark_that_fails_leaves_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str | None, renewed: bool
) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text(PAGE_OF_TWO, encoding="utf-8")
    monkeypatch.setattr(figures, "PAGE", page)
    monkeypatch.setattr(figures, "measure", lambda _: table)
    read, _ = blocks(PAGE_OF_TWO)
    assert renew(read, [page]) is renewed
    read, plan = blocks(page.read_text(encoding="utf-8"))
    assert (last_table(read.body) == NEW) is renewed
    assert last_table(plan.body) == "| partitions | ms |\n| --- | --- |\n| 8 | 5 |\n"


def test_the_last_table_of_an_output_counts_and_only_cells_with_figures() -> None:
    table = last_table(f"warm-up\n{markdown(('a', 'b'), [('x', '1')])}then\n{NEW}written\n")
    assert table == NEW
    assert last_table("no table\n") is None
    assert cells(NEW) == {("plain", "rows/s"): "700 (600–800)", ("aligned", "rows/s"): "70"}
    assert cells(markdown(("a", "b"), [("x", "–")])) == {}


@pytest.mark.parametrize(
    ("values", "form", "told"), [([3, 1, 2], ",.0f", "2 (1–3)"), ([0.954, 1.0], ".2f", "0.98 (0.95–1.00)")]
)
def test_a_spread_is_the_median_with_the_range(values: Sequence[float], form: str, told: str) -> None:
    assert spread(values, form) == told
