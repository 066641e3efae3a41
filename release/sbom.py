"""Writes what an image holds besides Debian's packages, as CycloneDX: build/dist/*.cdx.json.

    python release/sbom.py

One file for the coordinator's image and one for the client: each package that the image installs
from a registry, with version and hashes, from constraints/images, and our own. Debian's libraries
in the image name their packages themselves, in /var/lib/dpkg/status.d, for scanners of images.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from version import ROOT

TARGET = ROOT / "build" / "dist"
OF = {"coordinator": "services/coordinator", "client": "clients/spark"}


def write_all(target: Path) -> list[Path]:
    """The files, which stand in `target` then."""
    files = list[Path]()
    for name, package in OF.items():
        files.append(target / f"lockgate-{name}.cdx.json")
        write(ROOT / f"constraints/images/{name}.txt", ROOT / package / "pyproject.toml", files[-1])
        components = json.loads(files[-1].read_text(encoding="utf-8"))["components"]
        print(f"{files[-1].relative_to(ROOT)}: {len(components)} packages")
    return files


def write(locked: Path, project: Path, file: Path) -> None:
    """The same input gives the same bytes, whichever registry this machine goes to."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "requirements.txt"
        copy.write_text(locked.read_text(encoding="utf-8"), encoding="utf-8")
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "cyclonedx_py",
            "requirements",
            str(copy),
            "--pyproject",
            str(project),
        ]
        command += ["--mc-type", "application", "--output-reproducible", "--output-format", "JSON"]
        command += ["--output-file", str(file)]
        public = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
        subprocess.run(command, check=True, env=public)


if __name__ == "__main__":
    TARGET.mkdir(parents=True, exist_ok=True)
    write_all(TARGET)
