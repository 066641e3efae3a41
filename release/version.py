"""The version of all packages, from one place: the file VERSION.

    python release/version.py               # is all at that version, the changelog too?
    python release/version.py 0.2.0         # writes it: VERSION, packages, chart, citation, pages
    python release/version.py --tag v0.2.0  # is that the version, and dated? Prints its section

The packages need each other at the same version, so a release is one version of all. The jar and
the image take it from VERSION when they are built. The changelog's section, `## [0.2.0] -
unreleased`, is written by a person; the tag needs a date there.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("core", "services/coordinator", "clients/http", "clients/spark", "clients/reader")
ELSEWHERE = ("CITATION.cff", "deploy/helm/lockgate/Chart.yaml")
NAMING_THE_JAR = ("docs/guide/connect.md", "clients/spark-server/README.md")
EVERYWHERE = (*PACKAGES, "testbed")

OWN = re.compile(r'(?m)^version = "([^"]+)"$')
NEEDED = re.compile(r'"(lockgate(?:-[a-z]+)?)==([^"]+)"')
SECTION = re.compile(r"(?m)^## \[([^\]]+)\] - (unreleased|\d{4}-\d{2}-\d{2})\n")
CITED = re.compile(r"(?m)^(version|appVersion): (.+)$")
SEMANTIC = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
JAR = re.compile(rf"(lockgate-spark-server)-({SEMANTIC.pattern})\b")


def declared(root: Path = ROOT) -> dict[str, list[str]]:
    """The versions that each file names: its own, and those of our packages that it needs."""
    files = {f"{package}/pyproject.toml": (OWN, NEEDED) for package in EVERYWHERE}
    files |= dict.fromkeys(ELSEWHERE, (CITED,)) | dict.fromkeys(NAMING_THE_JAR, (JAR,))
    found = dict[str, list[str]]()
    for file, patterns in files.items():
        text = (root / file).read_text(encoding="utf-8")
        found[file] = [each.group(each.lastindex or 0) for one in patterns for each in one.finditer(text)]
    return found


def section(version: str, root: Path = ROOT) -> tuple[str, str]:
    """The date of a version in the changelog, or `unreleased`, and what it says. Raises SystemExit
    where it has no such section.
    """
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    found = list(SECTION.finditer(text))
    for place, each in enumerate(found):
        if each[1] == version:
            end = found[place + 1].start() if place + 1 < len(found) else len(text)
            return each[2], text[each.end() : end].strip()
    raise SystemExit(f"CHANGELOG.md has no section of {version}: write one below `## [{version}] - unreleased`")


def tagged(tag: str, root: Path = ROOT) -> str:
    """What the changelog says of the version that a tag names. Raises SystemExit where the tag is
    not the version of the packages, or its section has no date.
    """
    wanted = (root / "VERSION").read_text(encoding="utf-8").strip()
    if tag != f"v{wanted}":
        raise SystemExit(f"the tag is {tag}, and VERSION has {wanted}: tag v{wanted}, or write the other version")
    date, text = section(wanted, root)
    if date == "unreleased":
        raise SystemExit(f"CHANGELOG.md calls {wanted} unreleased: write the date, as in `## [{wanted}] - 2026-12-01`")
    return text


def write(version: str, root: Path = ROOT) -> None:
    """Writes the version wherever it stands, but for the changelog."""
    if not SEMANTIC.fullmatch(version):
        raise SystemExit(f"{version!r} is no version: write MAJOR.MINOR.PATCH, such as 0.2.0, or 0.2.0rc1")
    for package in EVERYWHERE:
        path = root / package / "pyproject.toml"
        text = OWN.sub(f'version = "{version}"', path.read_text(encoding="utf-8"))
        path.write_text(NEEDED.sub(rf'"\1=={version}"', text), encoding="utf-8")
    for path in (root / each for each in ELSEWHERE):
        path.write_text(CITED.sub(rf"\1: {version}", path.read_text(encoding="utf-8")), encoding="utf-8")
    for path in (root / each for each in NAMING_THE_JAR):
        path.write_text(JAR.sub(rf"\1-{version}", path.read_text(encoding="utf-8")), encoding="utf-8")
    (root / "VERSION").write_text(f"{version}\n", encoding="utf-8")


def main() -> None:
    """Called from the command line."""
    if sys.argv[1:2] == ["--tag"]:
        print(tagged(sys.argv[2]))
        return
    if len(sys.argv) > 1:
        write(sys.argv[1])
    wanted = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
    differ = {file: found for file, found in declared().items() if set(found) != {wanted}}
    for file, found in differ.items():
        print(f"{file} has {', '.join(found)}, and VERSION has {wanted}: python {__file__} {wanted}")
    if differ:
        raise SystemExit(1)
    date, _ = section(wanted)
    print(f"all is at {wanted}, {date}")


if __name__ == "__main__":
    main()
