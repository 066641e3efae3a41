"""The advisor's page: its workload gives what it says, and is the example of the same name."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from lockgate_cli.__main__ import cli
from support.code_of_pages import blocks
from support.imports import CHECKOUT

PAGE = CHECKOUT / "docs/guide/tuning.md"
OBSERVED = CHECKOUT / "docs/samples/lockgate-observed.json"


def test_the_workload_of_the_page_gives_what_the_page_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workload, command, printed = blocks(PAGE)[:3]
    assert yaml.safe_load(workload.text) == yaml.safe_load((CHECKOUT / "examples/workload.yaml").read_text())
    monkeypatch.chdir(tmp_path)
    Path("workload.yaml").write_text(workload.text)
    done = CliRunner().invoke(cli, command.text.split()[1:])
    assert done.stdout.rstrip() == printed.text.rstrip()


def test_the_sample_of_an_observed_run_can_be_simulated() -> None:
    done = CliRunner().invoke(cli, ["simulate", str(OBSERVED), "--observed", "--window", "1 hour"])
    assert "Plain Spark loses " in done.stdout, done.output
