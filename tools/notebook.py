"""The tutorial as a notebook: `python tools/notebook.py` makes docs/tutorial.ipynb of the page.

Blocks of Python become cells to run, all other text cells to read. There are no outputs in it: the
page has them below each block.
"""

import re
from pathlib import Path
from typing import Any

import nbformat
from nbformat import v4

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, NOTEBOOK = DOCS / "tutorial.md", DOCS / "tutorial.ipynb"
PYTHON = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
FOR_TESTS = re.compile(r"^<!-- .*? -->\n", re.MULTILINE)
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def notebook() -> Any:
    """Return the page's cells, in order. Their ids are their numbers, so the same page gives the
    same file.
    """
    parts = PYTHON.split(PAGE.read_text(encoding="utf-8"))
    cells = []
    for number, part in enumerate(parts):
        text = FOR_TESTS.sub("", part).strip()
        if text:
            make = v4.new_code_cell if number % 2 else v4.new_markdown_cell
            cells.append(make(text, id=f"cell-{number}"))
    return v4.new_notebook(cells=cells, metadata=KERNEL)


def text() -> str:
    """Return the file's text."""
    return str(nbformat.writes(notebook())) + "\n"


if __name__ == "__main__":
    NOTEBOOK.write_text(text(), encoding="utf-8")
