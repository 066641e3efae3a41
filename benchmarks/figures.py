"""Run the benchmarks whose tables stand in the documentation, and rewrite the tables
(`make bench`, or `make bench ARGS="read plan"` for those of some benchmarks).

A table of docs/internals/benchmarks.md stands between two marks:

    <!-- bench read --records 6000000 -->
    | … |
    <!-- /bench -->

The first one has the benchmark's name and options. Its last table is written between them, with
the command, the commit and the machine below it. README and the other pages repeat some figures on
lines that name the command; there the old figure is replaced by the new one. Each table is written
as soon as it is known, so a run that is cut off loses only its last benchmark. A benchmark that
fails leaves its table as it is. All of them take some four hours.
"""

import argparse
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.__main__ import listing

CHECKOUT = Path(__file__).resolve().parents[1]
PAGE = CHECKOUT / "docs/internals/benchmarks.md"
MARKED = re.compile(r"<!-- bench (?P<run>[^\n]*?) -->\n(?P<body>.*?)<!-- /bench -->\n", re.DOTALL)
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A table of the documentation. `run` is the benchmark's name with its options."""

    run: str
    body: str

    @property
    def name(self) -> str:
        """The benchmark's name."""
        return self.run.split()[0]

    @property
    def command(self) -> str:
        """The command as a reader types it."""
        name, _, options = self.run.partition(" ")
        return f"make bench-{name}" + (f' ARGS="{options}"' if options else "")


def blocks(text: str) -> Iterator[Block]:
    """Return the tables of a page, with their commands."""
    for found in MARKED.finditer(text):
        yield Block(found["run"], found["body"])


def rewritten(text: str, block: Block, body: str) -> str:
    """Return the page with another `body` in place of that of `block`."""
    mark = f"<!-- bench {block.run} -->\n"
    return text.replace(f"{mark}{block.body}", f"{mark}{body}")


def last_table(output: str) -> str | None:
    """Return the last Markdown table of a benchmark's output, or None."""
    tables = TABLE.findall(output)
    return tables[-1] if tables else None


def cells(table: str) -> dict[tuple[str, str], str]:
    """Return the cells that have a figure, by the row's first cell and the column's name."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("|")]
    columns, _, *rows = lines or [[], []]
    every = {(row[0], column): cell for row in rows for column, cell in zip(columns[1:], row[1:], strict=False)}
    return {place: cell for place, cell in every.items() if any(character.isdigit() for character in cell)}


def copied(page: str, block: Block, table: str) -> str:
    """Return a page with the new figures on the lines that name the benchmark's command."""
    before, after = cells(block.body), cells(table)
    changed = sorted(
        ((old, after[place]) for place, old in before.items() if after.get(place, old) != old),
        key=lambda pair: len(pair[0]),
        reverse=True,
    )
    lines = page.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if block.command in line:
            for old, new in changed:
                line = line.replace(old, new)
            lines[number] = line
    return "".join(lines)


def machine() -> str:
    """Return what a reader should know of this machine, such as `2 cores, load 0.8 before`."""
    load = f", load {os.getloadavg()[0]:.1f} before" if hasattr(os, "getloadavg") else ""
    return f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}{load}"


def commit() -> str:
    """Return the commit that is measured, with its date."""
    git = ["git", "-C", str(CHECKOUT), "log", "-1", "--format=%h of %cs"]
    return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()


def measure(block: Block) -> str | None:
    """Run the benchmark, with its output on the terminal, and return its last table. Return None if
    it fails or prints no table.
    """
    command = [sys.executable, "-m", "benchmarks", *shlex.split(block.run)]
    lines = []
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, encoding="utf-8") as child:
        assert child.stdout is not None
        for line in child.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return last_table("".join(lines)) if child.returncode == 0 else None


def renew(block: Block, pages: Sequence[Path]) -> bool:
    """Measure one table, and rewrite it and its copies. Return whether it was measured."""
    made_by = f"\n*`{block.command}`: commit {commit()}, {machine()}.*\n"
    table = measure(block)
    if table is None:
        return False
    for page in pages:
        text = page.read_text(encoding="utf-8")
        new = rewritten(text, block, table + made_by) if page == PAGE else copied(text, block, table)
        if new != text:
            page.write_text(new, encoding="utf-8")
    return True


def main() -> int:
    """Rewrite the tables of the benchmarks that are named, or all. Return 1 if one has failed."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("names", nargs="*", help="of benchmarks that have a table (default: all)")
    parser.add_argument("--list", action="store_true", help="list all benchmarks, and run none")
    chosen = parser.parse_args()
    if chosen.list:
        print(listing())
        return 0
    wanted = chosen.names
    found = [each for each in blocks(PAGE.read_text(encoding="utf-8")) if not wanted or each.name in wanted]
    if missing := set(wanted) - {each.name for each in found}:
        names = sorted({each.name for each in blocks(PAGE.read_text(encoding="utf-8"))})
        raise SystemExit(f"{PAGE.name} has no table of {', '.join(sorted(missing))}; it has some of {', '.join(names)}")
    pages = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]
    failed = []
    for number, block in enumerate(found, 1):
        print(f"[{number}/{len(found)}] {block.command}", flush=True)
        if not renew(block, pages):
            failed.append(block.command)
    for command in failed:
        print(f"failed, and its table is as before: {command}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
