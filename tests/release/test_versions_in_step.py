"""One version of all packages, from the file VERSION; what each package carries."""

import importlib.util
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from support.imports import CHECKOUT


@pytest.fixture(scope="module")
def releases() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release_version", CHECKOUT / "release/version.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def copy(tmp_path: Path, releases: ModuleType) -> Path:
    for package in releases.EVERYWHERE:
        (tmp_path / package).mkdir(parents=True)
        shutil.copy(CHECKOUT / package / "pyproject.toml", tmp_path / package)
    for file in ("VERSION", "CHANGELOG.md", *releases.ELSEWHERE, *releases.NAMING_THE_JAR):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CHECKOUT / file, tmp_path / file)
    return tmp_path


def test_every_package_and_what_it_needs_of_ours_is_at_the_version_of_the_file(releases: ModuleType) -> None:
    wanted = (CHECKOUT / "VERSION").read_text(encoding="utf-8").strip()
    declared = releases.declared()
    for client in ("clients/spark", "clients/reader"):
        assert len(declared[f"{client}/pyproject.toml"]) == 3, "its own, and those of lockgate and of lockgate-http"
    assert {found for each in declared.values() for found in each} == {wanted}
    assert {version(f"lockgate{name}") for name in ("", "-coordinator", "-http", "-spark", "-reader")} == {wanted}


def test_no_package_needs_one_of_a_strangers_that_begins_like_ours(releases: ModuleType) -> None:
    texts = {each: (CHECKOUT / each / "pyproject.toml").read_text(encoding="utf-8") for each in releases.EVERYWHERE}
    ours = {re.findall(r'(?m)^name = "([^"]+)"$', text)[0] for text in texts.values()}
    needed = {name for text in texts.values() for name in re.findall(r'"(lockgate[\w-]*)[=<>\["]', text)}

    assert "lockgate-client" not in ours, "a stranger's package has that name in the registry of all"
    assert needed <= ours


def test_a_new_version_is_written_everywhere(releases: ModuleType, copy: Path) -> None:
    releases.write("0.2.0rc1", copy)
    assert {found for each in releases.declared(copy).values() for found in each} == {"0.2.0rc1"}
    assert (copy / "VERSION").read_text(encoding="utf-8") == "0.2.0rc1\n"
    for file in releases.ELSEWHERE:
        assert "\nversion: 0.2.0rc1\n" in (copy / file).read_text(encoding="utf-8"), file
    assert "\nappVersion: 0.2.0rc1\n" in (copy / "deploy/helm/lockgate/Chart.yaml").read_text(encoding="utf-8")


def test_a_page_that_names_the_jar_is_of_this_version_and_goes_along(releases: ModuleType, copy: Path) -> None:
    for page in (CHECKOUT / "docs").rglob("*.md"):
        name = str(page.relative_to(CHECKOUT))
        assert (name in releases.NAMING_THE_JAR) == bool(releases.JAR.search(page.read_text(encoding="utf-8"))), name
    releases.write("0.2.0", copy)
    for name in releases.NAMING_THE_JAR:
        assert set(releases.declared(copy)[name]) == {"0.2.0"}


def test_what_is_no_version_changes_nothing(releases: ModuleType, copy: Path) -> None:
    with pytest.raises(SystemExit, match=r"'0\.2' is no version"):
        releases.write("0.2", copy)
    assert (copy / "VERSION").read_text() == (CHECKOUT / "VERSION").read_text()


def test_a_package_that_is_behind_is_named(releases: ModuleType, copy: Path, tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "release", tmp_path / "release")
    behind = copy / "core/pyproject.toml"
    behind.write_text(releases.OWN.sub('version = "0.0.9"', behind.read_text()))
    done = subprocess.run(
        [sys.executable, str(tmp_path / "release/version.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "core/pyproject.toml has 0.0.9" in done.stdout


def test_the_chart_and_the_citation_are_of_this_version(releases: ModuleType) -> None:
    wanted = (CHECKOUT / "VERSION").read_text(encoding="utf-8").strip()
    found = releases.declared()
    assert [found[file] for file in releases.ELSEWHERE] == [[wanted], [wanted, wanted]]


def test_the_changelog_has_a_section_of_this_version(releases: ModuleType) -> None:
    date, text = releases.section((CHECKOUT / "VERSION").read_text(encoding="utf-8").strip())
    assert date
    assert "### Added" in text


def test_a_tag_needs_the_version_and_a_date_and_gives_the_notes(releases: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "VERSION").write_text("0.2.0\n")
    log = "# Changelog\n\n## [0.2.0] - {}\n### Added\n- A thing.\n\n## [0.1.0] - 2026-01-01\n- The first.\n"
    (tmp_path / "CHANGELOG.md").write_text(log.format("unreleased"))
    with pytest.raises(SystemExit, match=r"calls 0\.2\.0 unreleased"):
        releases.tagged("v0.2.0", tmp_path)

    (tmp_path / "CHANGELOG.md").write_text(log.format("2026-12-01"))
    assert releases.tagged("v0.2.0", tmp_path) == "### Added\n- A thing."
    with pytest.raises(SystemExit, match=r"the tag is v0\.1\.0, and VERSION has 0\.2\.0"):
        releases.tagged("v0.1.0", tmp_path)
    with pytest.raises(SystemExit, match=r"no section of 0\.3\.0"):
        releases.section("0.3.0", tmp_path)


def test_the_forge_s_files_can_be_read_and_call_what_is_there() -> None:
    targets = re.findall(r"(?m)^([a-z-]+):", (CHECKOUT / "Makefile").read_text(encoding="utf-8"))
    for file in sorted((CHECKOUT / ".github").rglob("*.yml")):
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
        for job in found.get("jobs", {}).values():
            for step in job.get("steps", []):
                command = step.get("run", "")
                assert command != ".ci/run" or (CHECKOUT / command).exists()
                if command.startswith("make "):
                    called = [
                        word for word in command.split()[1:] if "=" not in word and "{" not in word and word != "}}"
                    ]
                    assert set(called) <= {*targets, "matrix.spark"}, file


def test_each_package_carries_the_licence() -> None:
    text = (CHECKOUT / "LICENSE").read_text(encoding="utf-8")
    for package in ("core", "services/coordinator", "clients/http", "clients/spark", "clients/reader"):
        assert (CHECKOUT / package / "LICENSE").read_text(encoding="utf-8") == text
