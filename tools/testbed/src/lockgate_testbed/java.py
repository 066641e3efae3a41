"""Finds Java 17 or newer: `JAVA_HOME` first, then the PATH."""

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from lockgate_testbed.errors import JavaMissing

MINIMUM = 17
# more options for each JVM that the test bed starts, spaces between
OPTIONS = "LOCKGATE_JAVA_OPTIONS"
ADVICE = f"install Java {MINIMUM} (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME"


def options() -> list[str]:
    """Return the options of `LOCKGATE_JAVA_OPTIONS`, for each JVM that the test bed starts."""
    return os.environ.get(OPTIONS, "").split()


@functools.cache
def java() -> str:
    """Give the path of `java`. Raises `JavaMissing` when there is none, or only one before 17."""
    home = os.environ.get("JAVA_HOME")
    candidate = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if candidate is None:
        raise JavaMissing(f"no java on the PATH: {ADVICE}")
    try:
        said = subprocess.run([candidate, "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError) as error:
        raise JavaMissing(f"{candidate} does not run ({error}): {ADVICE}") from error
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < MINIMUM:
        raise JavaMissing(f"{candidate} is {said.splitlines()[0] if said else 'of unknown version'}: {ADVICE}")
    return candidate
