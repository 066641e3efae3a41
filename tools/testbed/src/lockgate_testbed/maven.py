"""Downloads a set of jars with Maven: a POM that names them, and `dependency:copy-dependencies`."""

import shutil
import subprocess
from pathlib import Path
from xml.sax.saxutils import escape

from lockgate_testbed.artifacts import Artifact, JarSet

GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
TIMEOUT_S = 600


def available() -> bool:
    """Whether `mvn` is on the PATH."""
    return shutil.which("mvn") is not None


def fetch(wanted: JarSet, versions: tuple[str, ...], folder: Path) -> str | None:
    """Bring the jars into `folder`; returns Maven's complaint, or None when all is there."""
    pom = folder / "pom.xml"
    pom.write_text(_pom(wanted, versions))
    command = ["mvn", "-q", "-B", "-f", str(pom), GOAL, "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"  {error}"
    if done.returncode:
        return (
            "\n".join(f"  {line}" for line in done.stdout.splitlines() if line.startswith("[ERROR] Failed"))
            or f"  {done.stdout[-2000:]}"
        )
    return None


def _pom(wanted: JarSet, versions: tuple[str, ...]) -> str:
    excluded = wanted.excluded if wanted.transitive else (("*", "*"),)
    exclusions = "".join(
        f"<exclusion><groupId>{group}</groupId><artifactId>{name}</artifactId></exclusion>" for group, name in excluded
    )
    dependencies = "\n".join(
        _dependency(artifact, version, exclusions) for artifact, version in zip(wanted.artifacts, versions, strict=True)
    )
    return f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>{escape(wanted.name)}</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""


def _dependency(artifact: Artifact, version: str, exclusions: str) -> str:
    return (
        "    "
        f"<dependency><groupId>{artifact.group}</groupId><artifactId>{artifact.name}</artifactId><version>{escape(version)}</version>"
        f"<exclusions>{exclusions}</exclusions></dependency>"
    )
