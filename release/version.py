"""The version of all packages, from one place: the file VERSION.

    python release/version.py          # is each package at that version?
    python release/version.py 0.2.0    # writes it to VERSION and into each package

The packages need each other at the same version, so a release is one version of all.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("core", "services/coordinator", "clients/http", "clients/spark", "clients/reader")
ELSEWHERE = ("CITATION.cff", "deploy/helm/lockgate/Chart.yaml")
EVERYWHERE = (*PACKAGES, "testbed")

OWN = re.compile(r'(?m)^version = "([^"]+)"$')
NEEDED = re.compile(r'"(lockgate(?:-[a-z]+)?)==([^"]+)"')
CITED = re.compile(r"(?m)^(version|appVersion): .+$")
SEMANTIC = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")


def declared(root: Path = ROOT) -> dict[str, list[str]]:
    """The versions that each pyproject.toml names: its own, and those of our packages it needs."""
    texts = {package: (root / package / "pyproject.toml").read_text(encoding="utf-8") for package in EVERYWHERE}
    return {
        package: [*OWN.findall(text), *(version for _, version in NEEDED.findall(text))]
        for package, text in texts.items()
    }


def write(version: str, root: Path = ROOT) -> None:
    """Writes the version to VERSION and into each pyproject.toml."""
    if not SEMANTIC.fullmatch(version):
        raise SystemExit(f"{version!r} is no version: write MAJOR.MINOR.PATCH, such as 0.2.0, or 0.2.0rc1")
    for package in EVERYWHERE:
        path = root / package / "pyproject.toml"
        text = OWN.sub(f'version = "{version}"', path.read_text(encoding="utf-8"))
        path.write_text(NEEDED.sub(rf'"\1=={version}"', text), encoding="utf-8")
    for path in (root / each for each in ELSEWHERE):
        path.write_text(CITED.sub(rf"\1: {version}", path.read_text(encoding="utf-8")), encoding="utf-8")
    (root / "VERSION").write_text(f"{version}\n", encoding="utf-8")


def main() -> None:
    """Called from the command line."""
    if len(sys.argv) > 1:
        write(sys.argv[1])
    wanted = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
    differ = {package: found for package, found in declared().items() if set(found) != {wanted}}
    for package, found in differ.items():
        print(f"{package}/pyproject.toml has {', '.join(found)}, and VERSION has {wanted}: python {__file__} {wanted}")
    if differ:
        raise SystemExit(1)
    print(f"all packages are at {wanted}")


if __name__ == "__main__":
    main()
