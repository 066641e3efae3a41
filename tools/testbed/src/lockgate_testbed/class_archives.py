"""Archives of the classes that a Spark session loads (class data sharing). A JVM starts with one in
half the processor time.

`python -m lockgate_testbed` makes them, once for each classpath. Java checks its version and the
jars itself, and starts without an archive that does not fit.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from lockgate_testbed import jars
from lockgate_testbed.java import OPTIONS, java

SESSION = """
from lockgate_testbed.spark import session
spark = session("lockgate classes", plain_files={plain_files})
gateway = spark.sparkContext._gateway
rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
counted = rate.withWatermark("timestamp", "1 minute").groupBy("value").count()
writer = counted.writeStream.format("noop").outputMode("update")
writer.trigger(availableNow=True).start().awaitTermination(60)
spark.stop()
gateway.proc.stdin.close()
gateway.proc.wait()
"""


def option(classpath: str) -> list[str]:
    """Return the options with which a JVM of this classpath uses its archive, if there is one."""
    found = _archive(classpath)
    return [f"-XX:SharedArchiveFile={found}", "-Xlog:cds*=off"] if found.exists() else []


def make(classpath: str, *, plain_files: bool) -> None:
    """Make the archive of a session's classpath, unless there is one."""
    found = _archive(classpath)
    if found.exists():
        return
    part = found.with_suffix(f".{os.getpid()}")
    options = f"-XX:ArchiveClassesAtExit={part} -XX:+UseSerialGC -Xlog:cds*=off"
    program = SESSION.format(plain_files=plain_files)
    environment = {**os.environ, OPTIONS: options}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    if part.exists() and not done.returncode:
        part.replace(found)
    else:
        part.unlink(missing_ok=True)
        print(f"Spark's sessions start slowly here: {found} cannot be made: {done.stderr[-500:]}", file=sys.stderr)


def _archive(classpath: str) -> Path:
    # Several checkouts may share the folder, but not the jars of PySpark.
    named = hashlib.sha256(f"{java()}\n{sys.prefix}\n{classpath}".encode()).hexdigest()[:16]
    return jars.cache_dir() / f"classes-{named}.jsa"
