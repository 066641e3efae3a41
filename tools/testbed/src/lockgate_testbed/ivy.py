"""Downloads a set of jars with the Ivy that PySpark brings, for machines without Maven.

Ivy gets settings and a cache of its own. With its defaults, and so with `spark-submit --packages`,
it looks into a local Maven repository first and fails where that holds a POM without its jar.
"""

import importlib.util
import subprocess
from pathlib import Path
from xml.sax.saxutils import quoteattr

from lockgate_testbed.artifacts import JarSet
from lockgate_testbed.errors import JavaMissing
from lockgate_testbed.java import java

TIMEOUT_S = 600
SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <caches defaultCacheDir={cache}/>
  <resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""


def available() -> bool:
    """Whether PySpark's Ivy and a Java to run it are there."""
    try:
        java()
    except JavaMissing:
        return False
    return _ivy_jar() is not None


def fetch(wanted: JarSet, versions: tuple[str, ...], folder: Path) -> str | None:
    """Bring the jars into `folder`; returns Ivy's complaint, or None when all is there."""
    settings, module = folder / "ivysettings.xml", folder / "ivy.xml"
    settings.write_text(SETTINGS.format(cache=quoteattr(str(folder.parent / "ivy-cache"))))
    module.write_text(_module(wanted, versions))
    command = [
        java(),
        "-jar",
        str(_ivy_jar()),
        "-warn",
        "-settings",
        str(settings),
        "-ivy",
        str(module),
        "-confs",
        "default",
    ]
    command += ["-retrieve", f"{folder}/[artifact]-[revision].[ext]", "-types", "jar", "bundle"]
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"  {error}"
    if done.returncode:
        problems = [
            line.strip(": \t") for line in done.stdout.splitlines() if "not found" in line or "ERROR" in line.upper()
        ]
        return "\n".join(f"  {line}" for line in problems) or f"  {done.stdout[-2000:]}"
    return None


def _ivy_jar() -> Path | None:
    found = importlib.util.find_spec("pyspark")
    roots = list(found.submodule_search_locations or []) if found else []
    return next((jar for root in roots for jar in Path(root, "jars").glob("ivy-*.jar")), None)


def _module(wanted: JarSet, versions: tuple[str, ...]) -> str:
    transitive = "true" if wanted.transitive else "false"
    dependencies = "\n".join(
        f'    <dependency org="{a.group}" name="{a.name}" rev={quoteattr(v)} conf="default->default" '
        f'transitive="{transitive}"/>'
        for a, v in zip(wanted.artifacts, versions, strict=True)
    )
    exclusions = "\n".join(f'    <exclude org="{group}" module="{name}"/>' for group, name in wanted.excluded)
    return f"""<ivy-module version="2.0">
  <info organisation="local" module={quoteattr(wanted.name)}/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}
{exclusions}
  </dependencies>
</ivy-module>
"""
