"""What the images install from a registry: constraints/images, which `python constraints/lock.py`
writes. Its files must keep to dev.txt and to the dependencies of the packages.
"""

import re
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
IMAGES = sorted((ROOT / "constraints" / "images").glob("*.txt"))
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)


def pins(text: str) -> dict[str, str]:
    """The version of each package."""
    return {name.lower().replace("_", "-"): version for name, version in PIN.findall(text)}


@pytest.mark.parametrize("file", IMAGES, ids=lambda file: file.name)
def test_each_package_of_an_image_has_hashes_and_the_version_of_the_tests(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=\S)", "\n".join(line for line in text.splitlines() if not line.startswith("#")))
    assert len(blocks) == len(pins(text)) > 0
    assert [block.split()[0] for block in blocks if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", block)] == []
    tested = pins((ROOT / "constraints" / "dev.txt").read_text(encoding="utf-8"))
    others = {name: version for name, version in pins(text).items() if tested.get(name, version) != version}
    assert others == {}


@pytest.mark.parametrize(("file", "package"), [("coordinator", "services/coordinator"), ("client", "clients/http")])
def test_an_image_has_all_that_its_package_depends_on(file: str, package: str) -> None:
    project = tomllib.loads((ROOT / package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [re.match(r"[A-Za-z0-9._-]+", each)[0].lower() for each in project["dependencies"]]  # type: ignore[index]
    there = pins((ROOT / "constraints" / "images" / f"{file}.txt").read_text(encoding="utf-8"))
    assert [name for name in wanted if not name.startswith("lockgate") and name not in there] == []
