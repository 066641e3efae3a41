"""Writes the files of hashes that the images install from: tools/constraints/images/*.txt.

    pip install uv && python tools/constraints/lock.py

Each file names every package that one step of a Dockerfile installs, at the version of dev.txt,
with the SHA-256 of every file that the registry publishes for that version. pip then refuses
anything else (`--require-hashes`). No file names a registry: pip's own configuration does that. Run
the script whenever dev.txt or the dependencies of a package change.
"""

import subprocess
import sys
from pathlib import Path

import tomllib

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
IMAGES = HERE / "images"
OWN = "lockgate"
"""Our own packages are installed from the checkout, and never looked up in a registry."""

STEPS: dict[str, list[str]] = {
    "build": ["hatchling", "setuptools", "wheel", "uplot-python"],  # what builds our packages, and PySpark's
    "spark": ["pyspark"],
    "producer": ["confluent-kafka"],
}
PACKAGES = {"coordinator": ("services/coordinator", "clients/cli", "clients/http"), "client": ("clients/http",)}


def requirements(packages: tuple[str, ...]) -> list[str]:
    """Return the dependencies of packages of this checkout, without our own packages."""
    files = [tomllib.loads((ROOT / each / "pyproject.toml").read_text(encoding="utf-8")) for each in packages]
    return [each for file in files for each in file["project"]["dependencies"] if not each.startswith(OWN)]


def locked(wanted: list[str]) -> str:
    """Return the text of one file."""
    command = ["uv", "pip", "compile", "-", "--quiet", "--universal", "--python-version", "3.10"]
    command += ["--constraint", str(HERE / "dev.txt"), "--generate-hashes"]
    command += ["--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
    try:
        done = subprocess.run(command, input="\n".join(wanted), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        sys.exit("tools/constraints/lock.py needs uv: pip install uv")
    if done.returncode:
        sys.exit(f"uv cannot lock {', '.join(wanted)}: {done.stderr.strip()}")
    return done.stdout


def main() -> None:
    """Write all files, or none if one cannot be made."""
    steps = {**STEPS, **{name: requirements(packages) for name, packages in PACKAGES.items()}}
    texts = {name: locked(wanted) for name, wanted in steps.items()}
    IMAGES.mkdir(exist_ok=True)
    for name, text in texts.items():
        header = "# Made by tools/constraints/lock.py: what a step of the images installs, each file with its hash.\n"
        (IMAGES / f"{name}.txt").write_text(header + text, encoding="utf-8")
        print(f"tools/constraints/images/{name}.txt: {text.count('==')} packages, {text.count('--hash')} hashes")


if __name__ == "__main__":
    main()
