"""The tutorial as a notebook: it is the page's, and runs from end to end in Jupyter's own kernel,
against a real Kafka and a real coordinator. Only addresses are the test's.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from tools.notebook import NOTEBOOK, PAGE, notebook, text

from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from support.code_of_pages import blocks, topics_of
from support.imports import CHECKOUT

# The session that the page's own getOrCreate() takes: with the connector, as `spark.jars.packages`
# brings it.
BEFORE = "from lockgate_testbed.spark import session; session('the tutorial'); del session"


def test_the_notebook_is_the_page() -> None:
    assert NOTEBOOK.read_text(encoding="utf-8") == text(), "`python tools/notebook.py` writes it anew"


def test_the_notebook_is_one_of_jupyters_without_outputs_and_paths_of_a_machine() -> None:
    found = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(found)

    assert [cell for cell in found.cells if cell.cell_type == "code" and cell.outputs] == []
    assert str(CHECKOUT) not in NOTEBOOK.read_text(encoding="utf-8")


@pytest.fixture
def broker(kafka: KafkaBroker) -> Iterator[KafkaBroker]:
    with topics.created(kafka.bootstrap, topics_of(PAGE)):
        yield kafka


@pytest.mark.long
def test_the_notebook_runs_from_end_to_end_and_prints_what_the_page_says(broker: KafkaBroker, tmp_path: Path) -> None:
    ours = notebook()
    with CoordinatorProcess() as coordinator:
        for cell in ours.cells:
            cell.source = cell.source.replace("localhost:9092", broker.bootstrap)
            cell.source = cell.source.replace("http://localhost:8080", coordinator.url)
        ours.cells.insert(0, nbformat.v4.new_code_cell(BEFORE))
        client = NotebookClient(ours, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
        client.execute(env={**os.environ, "PYTHONPATH": str(CHECKOUT)})
    cells = [cell for cell in ours.cells[1:] if cell.cell_type == "code"]
    assert [printed(cell) for cell in cells] == list(shown())


def printed(cell: nbformat.NotebookNode) -> str:
    return "".join(each.text for each in cell.outputs if each.get("name") == "stdout")


def shown() -> Iterator[str]:
    """What the page shows below each block of Python; empty where it shows nothing."""
    of_page = blocks(PAGE)
    for block, after in zip(of_page, [*of_page[1:], None], strict=True):
        if block.language == "python":
            yield after.text if after is not None and after.comment == "output" else ""
