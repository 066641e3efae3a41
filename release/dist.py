"""Builds what is released, into build/dist: a wheel and an sdist of each package, the jar for
Spark's servers (jar.py), what the images hold (sbom.py), and SHA256SUMS.

    python release/dist.py

Each wheel is built from the sdist, so an sdist that lacks a file does not pass. `twine check` reads
each description as the registry will show it. The times in the files are those of the last commit:
the same commit gives the same bytes.
"""

import hashlib
import os
import shutil
import subprocess
import sys

import jar
import sbom
from version import PACKAGES, ROOT

TARGET = ROOT / "build" / "dist"


def main() -> None:
    """Called from the command line."""
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    committed = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": committed}
    for package in PACKAGES:
        print(f"building {package} …", flush=True)
        command = [sys.executable, "-m", "build", "--outdir", str(TARGET), str(ROOT / package)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
    files = sorted(TARGET.iterdir())
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *map(str, files)], check=True)
    print("building the jar …", flush=True)
    files += [*sbom.write_all(TARGET), jar.build(TARGET)]
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (TARGET / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    for path in files:
        print(f"{path.stat().st_size / 1024:8.0f} KiB  {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
