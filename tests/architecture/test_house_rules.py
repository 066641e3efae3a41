"""Rules for every file of the repository."""

import os
import re
from functools import cache
from pathlib import Path

import pytest

from support.imports import CHECKOUT, modules

TEXT = {
    ".py",
    ".md",
    ".toml",
    ".txt",
    ".yml",
    ".yaml",
    ".sh",
    ".lua",
    ".json",
    ".html",
    ".js",
    ".css",
    ".java",
    ".properties",
    ".Dockerfile",
    "",
}
NOT_OURS = {"build", "__pycache__", "spark-warehouse", "metastore_db"}
VAGUE = re.compile(r"^(utils?|helpers?|common|managers?|misc)$")
MOST_LINES = 400
# Put together here, so that this file does not hold what it forbids. Hosts of registries are each
# machine's own business (a mirror, a proxy); a path of somebody's machine works nowhere else.
HOSTS = [
    "repo1.maven" + ".org",
    "repo.maven." + "apache.org",
    "files.python" + "hosted.org",
    "pypi" + ".org/simple",
    "registry.npm" + "js.org",
]
MACHINE_PATH = re.compile(r"(?<![\w.~*/:-])/(?:work|root|tmp|home|Users|workspace)/[\w.]")


@cache
def files() -> list[Path]:
    """Return the repository's text files."""
    found: list[Path] = []
    for folder, below, names in os.walk(CHECKOUT):
        below[:] = [name for name in below if _ours(Path(folder, name))]
        found += [path for name in names if (path := Path(folder, name)).suffix in TEXT and name != ".git"]
    return sorted(found)


def _ours(folder: Path) -> bool:
    hidden = folder.name.startswith(".") and folder.name not in (".ci", ".github")
    made = folder.name in NOT_OURS or folder.name.endswith(".egg-info") or (folder / "pyvenv.cfg").exists()
    return not hidden and not made


def lines_with(found: "re.Pattern[str]") -> list[str]:
    """Where a pattern occurs, as file:line."""
    return [
        f"{path.relative_to(CHECKOUT)}:{number}: {line.strip()[:100]}"
        for path in files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if found.search(line)
    ]


@pytest.mark.parametrize("host", HOSTS)
def test_no_file_names_a_registry(host: str) -> None:
    assert lines_with(re.compile(re.escape(host))) == []


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    assert lines_with(MACHINE_PATH) == []


def test_modules_are_named_after_what_they_hold() -> None:
    assert [module for module in modules() if any(VAGUE.match(part) for part in module.split("."))] == []


def test_no_source_file_is_too_long_to_be_read_at_one_sitting() -> None:
    long = {
        str(path.relative_to(CHECKOUT)): lines
        for path in files()
        if path.suffix == ".py" and (lines := len(path.read_text().splitlines())) > MOST_LINES
    }

    assert long == {}


def test_no_two_test_files_have_the_same_name() -> None:
    names = [path.name for path in (CHECKOUT / "tests").rglob("test_*.py")]
    # pytest would refuse to run any of them
    assert sorted({name for name in names if names.count(name) > 1}) == []
