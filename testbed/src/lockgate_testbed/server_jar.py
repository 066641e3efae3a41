"""The jar of `clients/spark-server`, made of the sources of this checkout."""

import subprocess
import sys
from pathlib import Path

from lockgate_testbed import jars
from lockgate_testbed.errors import JdkMissing


def server_jar(folder: Path) -> Path:
    """The jar, made anew in this folder as `make jar` makes it. Raises `JdkMissing` with the
    complaint of what makes it.
    """
    script = jars.CHECKOUT / "release" / "jar.py"
    done = subprocess.run([sys.executable, str(script), str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise JdkMissing(f"{script} failed: {done.stdout}{done.stderr}")
    (made,) = folder.glob("lockgate-spark-server-*.jar")
    return made
