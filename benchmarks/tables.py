"""The figures of a benchmark as they stand in the documentation: a Markdown table on the terminal,
and everything that was measured as JSON in build/bench.
"""

import json
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

BUILD = Path("build/bench")


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def spread(values: Sequence[float], form: str = ",.0f") -> str:
    """Return the median with the lowest and the highest in brackets, such as `1.00 (0.96–1.01)`."""
    median, lowest, highest = (format(each, form) for each in (statistics.median(values), min(values), max(values)))
    return f"{median} ({lowest}–{highest})"


def show(name: str, table: str, measured: Any, folder: Path = BUILD) -> None:
    """Print the table, and write it and what was `measured` into NAME.md and NAME.json."""
    folder.mkdir(parents=True, exist_ok=True)
    command = f"make bench-{name}" + (f' ARGS="{" ".join(sys.argv[1:])}"' if sys.argv[1:] else "")
    (folder / f"{name}.json").write_text(json.dumps({"command": command, "measured": measured}, indent=2) + "\n")
    (folder / f"{name}.md").write_text(table, encoding="utf-8")
    print(f"\n{table}\n{folder}: {name}.json, {name}.md", flush=True)
