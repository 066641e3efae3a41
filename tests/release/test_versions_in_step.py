"""One version of all packages: the `__version__` of core, which hatch reads. What each package
carries.
"""

import re
from importlib.metadata import requires, version

import yaml

from lockgate import __version__
from support.imports import CHECKOUT

RELEASED = {
    "lockgate": "core",
    "lockgate-coordinator": "services/coordinator",
    "lockgate-http": "clients/http",
    "lockgate-cli": "clients/cli",
    "lockgate-spark": "clients/spark",
    "lockgate-reader": "clients/reader",
}


def text(file: str) -> str:
    return (CHECKOUT / file).read_text(encoding="utf-8")


def test_packages_pins_chart_and_pages_have_the_version_of_core() -> None:
    pins = [
        pin
        for folder in RELEASED.values()
        for pin in re.findall(r'"lockgate[a-z-]*==(.+)"', text(f"{folder}/pyproject.toml"))
    ]
    chart = yaml.safe_load(text("deploy/helm/lockgate/Chart.yaml"))
    pages = [*CHECKOUT.glob("docs/**/*.md"), CHECKOUT / "clients/spark-server/README.md"]
    jars = {
        each for page in pages for each in re.findall(r"spark-server-(\d[\w.]*)\.jar", page.read_text(encoding="utf-8"))
    }

    assert {version(name) for name in RELEASED} == {__version__}
    assert pins == [__version__] * 9
    assert {chart["version"], chart["appVersion"], *jars} == {__version__}


def test_every_needed_name_like_ours_is_a_package_of_ours() -> None:
    texts = [text(f"{folder}/pyproject.toml") for folder in RELEASED.values()]
    needed = {name for each in texts for name in re.findall(r'"(lockgate[\w-]*)[=<>\["]', each)}

    assert needed <= RELEASED.keys()
    assert "lockgate-client" not in RELEASED, "the public registry has that name, and it is unrelated to this project"


def test_the_commands_need_nothing_of_a_service() -> None:
    def needed(name: str) -> set[str]:
        """Return the package and all that it needs on this machine, without extras."""
        plain = [
            each.partition(";")[0] for each in requires(name) or () if not re.search("extra|version|platform", each)
        ]
        return {name}.union(*(needed(re.split(r"[^\w.-]", each)[0].lower()) for each in plain))

    service = {"lockgate-coordinator", "fastapi", "starlette", "uvicorn", "redis", "prometheus-client"}
    assert needed("lockgate-coordinator") >= service
    assert needed("lockgate-cli") & service == set()


def test_the_changelog_has_a_section_of_this_version() -> None:
    assert re.search(
        rf"(?m)^## \[{re.escape(__version__)}\] - (unreleased|\d{{4}}-\d{{2}}-\d{{2}})$", text("CHANGELOG.md")
    )


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
    for package in (*RELEASED.values(), "clients/spark-server"):
        assert (CHECKOUT / package / "LICENSE").read_text(encoding="utf-8") == text
