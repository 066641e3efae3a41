"""Builds the jar of `clients/spark-server`, into build: `python tools/jar.py [FOLDER]`.

Compiled against the jars of the installed PySpark and of its Kafka connector. Sorted entries and
one fixed time: the same sources and the same javac give the same bytes.
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pyspark

from lockgate import __version__
from lockgate_testbed import jars

ROOT = Path(__file__).resolve().parents[1]
SERVER = ROOT / "clients" / "spark-server"
STAND_IN = ROOT / "clients" / "spark" / "src" / "lockgate_spark" / "jvm" / "StandIn.java"
PACKAGE = Path("io", "lockgate", "spark")
JAVA = "17"
TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip can have


def build(folder: Path) -> Path:
    """Build the jar in this folder. Raises `SystemExit` with the compiler's complaint."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"lockgate-spark-server-{__version__}.jar"
    with tempfile.TemporaryDirectory() as temporary:
        classes = Path(temporary, "classes")
        _compile(Path(temporary), classes)
        shutil.copytree(SERVER / "src" / "META-INF", classes / "META-INF")
        shutil.copy(SERVER / "LICENSE", classes / "META-INF")
        _zip(classes, target)
    return target


def _compile(temporary: Path, classes: Path) -> None:
    # The same class serves classic sessions, where Janino compiles it without a package.
    stand_in = temporary / PACKAGE / STAND_IN.name
    stand_in.parent.mkdir(parents=True)
    stand_in.write_text(f"package {'.'.join(PACKAGE.parts)};\n{STAND_IN.read_text(encoding='utf-8')}", encoding="utf-8")
    javac = shutil.which("javac")
    if javac is None:
        raise SystemExit(
            "no javac on the PATH: install a JDK 17 or newer (Debian: apt-get install openjdk-17-jdk-headless)"
        )
    found = [*sorted(Path(pyspark.__file__).parent.joinpath("jars").glob("*.jar")), *jars.kafka_connector()]
    options = ("--release", JAVA, "-proc:none", "-Xlint:-options", "-nowarn", "-d", str(classes))
    sources = [str(path) for path in (stand_in, *sorted((SERVER / "src" / PACKAGE).glob("*.java")))]
    done = subprocess.run(
        [javac, *options, "-cp", ":".join(map(str, found)), *sources], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)


def _zip(classes: Path, target: Path) -> None:
    manifest = f"Manifest-Version: 1.0\r\nImplementation-Version: {__version__}\r\n\r\n"
    entries = {"META-INF/MANIFEST.MF": manifest.encode()}
    for path in sorted(classes.rglob("*")):
        if path.is_file():
            entries[path.relative_to(classes).as_posix()] = path.read_bytes()
    with zipfile.ZipFile(target, "w") as jar:
        for name, content in entries.items():
            entry = zipfile.ZipInfo(name, TIME)
            entry.compress_type, entry.external_attr = zipfile.ZIP_STORED, 0o644 << 16
            jar.writestr(entry, content)


if __name__ == "__main__":
    print(build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build"))
