"""The jar of `clients/spark-server`, made of the sources of this checkout."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from lockgate_testbed import jars
from lockgate_testbed.errors import JdkMissing

MADE = "LOCKGATE_SERVER_JAR"
"""A jar that is made already, such as with the jars of another Spark."""


def server_jar(folder: Path) -> Path:
    """Build the jar in this folder as `make jar` does, or copy the one that `LOCKGATE_SERVER_JAR`
    names. Raises `JdkMissing` with the complaint of the build.
    """
    made = os.environ.get(MADE)
    if made:
        return Path(shutil.copy(made, folder))
    script = jars.CHECKOUT / "tools" / "jar.py"
    done = subprocess.run([sys.executable, str(script), str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise JdkMissing(f"{script} failed: {done.stdout}{done.stderr}")
    (built,) = folder.glob("lockgate-spark-server-*.jar")
    return built
