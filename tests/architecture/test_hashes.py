"""What the images install: every package from a registry has its hashes, at the version that is
tested, and no file names a registry.
"""

import re
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
REMEDY = "python tools/constraints/lock.py writes the files anew"
FILES = sorted((ROOT / "tools" / "constraints" / "images").glob("*.txt"))
DOCKERFILES = sorted((ROOT / "deploy" / "docker").glob("*.Dockerfile"))
BUILD_ALONE = "build"
"""The file of packages that no test runs with: they build the images' own wheels."""


def pinned(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;]+)", path.read_text(encoding="utf-8"), re.MULTILINE))


def entries(path: Path) -> list[str]:
    """Return the requirements of a file of hashes, each with its hashes."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return "\n".join(lines).replace("\\\n", " ").splitlines()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_package_has_hashes_and_no_file_names_a_registry(path: Path) -> None:
    for entry in entries(path):
        assert re.fullmatch(r"[a-z0-9._-]+==[^\s;]+( ; [^-]+?)?( +--hash=sha256:[0-9a-f]{64})+", entry), REMEDY
    assert "://" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", [path for path in FILES if path.stem != BUILD_ALONE], ids=lambda path: path.stem)
def test_the_images_have_the_versions_that_are_tested(path: Path) -> None:
    tested = pinned(ROOT / "tools" / "constraints" / "dev.txt")
    other = {name: version for name, version in pinned(path).items() if tested.get(name, version) != version}
    assert other == {}, REMEDY


@pytest.mark.parametrize(
    ("image", "package"),
    [
        ("coordinator", "services/coordinator"),
        ("coordinator", "clients/cli"),
        ("coordinator", "clients/http"),
        ("client", "clients/http"),
    ],
)
def test_every_dependency_of_a_package_is_in_its_image_s_file(image: str, package: str) -> None:
    project = tomllib.loads((ROOT / package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.match(r"[A-Za-z0-9._-]+", each)[0].lower() for each in project["dependencies"]}  # type: ignore[index]
    assert {name for name in names if not name.startswith("lockgate")} <= pinned(
        ROOT / "tools" / "constraints" / "images" / f"{image}.txt"
    ).keys(), REMEDY


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.stem)
def test_an_image_takes_nothing_from_a_registry_without_a_hash(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    commands = re.findall(r"\bpip (?:--python \S+ )?(?:install|wheel) [^&\n]*", text)
    assert len(commands) == len(re.findall(r"\bpip (?:--python \S+ )?(?:install|wheel|download)\b", text)) >= 3
    assert [each for each in commands if "--require-hashes" not in each and "--no-index" not in each] == []
