"""Runs TLC, TLA+'s model checker, on one model, and says what it found."""

import re
import resource
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lockgate_testbed import jars
from lockgate_testbed.java import java
from specification.models import Model

FOLDER = Path(__file__).parent
STATES = re.compile(r"^([\d,]+) states generated, ([\d,]+) distinct states found", re.MULTILINE)
VIOLATED = re.compile(r"^Error: (?:Invariant|Action property) (\w+) is violated", re.MULTILINE)
UNFULFILLED = "Temporal properties were violated"
COMPLETE = "Model checking completed. No error has been found."


@dataclass(frozen=True, slots=True)
class Found:
    """The result of one run.

    Attributes:
        states: The number of distinct states.
        seconds: The processor time that TLC took, whatever else ran meanwhile.
        violated: The name of the property that does not hold, or None if all hold in every state.
    """

    model: Model
    states: int
    seconds: float
    violated: str | None
    output: str

    @property
    def as_expected(self) -> bool:
        """Whether the property that the model breaks was violated, and no other."""
        return self.violated == self.model.violates

    @property
    def verdict(self) -> str:
        """Return the result in words."""
        if self.violated is None:
            return "all properties hold" if self.as_expected else f"NOT FOUND: {self.model.violates}"
        return f"{'breaks' if self.as_expected else 'BREAKS'} {self.violated}"


def check(model: Model) -> Found:
    """Check one model in one thread. Raises `RuntimeError` with TLC's output if it cannot be
    checked, and `JarsUnavailable` or `JavaMissing` if TLC is not on this machine.
    """
    [jar] = jars.tlc()
    with tempfile.TemporaryDirectory() as temporary:
        # TLC looks for modules and configuration in one folder, and writes there
        for module in FOLDER.glob("*.tla"):
            shutil.copy(module, temporary)
        Path(temporary, "model.cfg").write_text(model.configuration())
        command = [java(), "-Xmx2g", "-XX:+UseSerialGC", *(() if model.long else ("-XX:TieredStopAtLevel=1",))]
        command += ["-cp", str(jar), "tlc2.TLC", "-workers", "1", "-deadlock", "-metadir", temporary]
        command += ["-config", "model.cfg", f"{model.root}.tla"]
        before = _seconds_of_children()
        done = subprocess.run(command, cwd=temporary, capture_output=True, text=True, check=False)
        seconds = _seconds_of_children() - before
    states = [found.replace(",", "") for _, found in STATES.findall(done.stdout)]
    violated = VIOLATED.search(done.stdout)
    unfulfilled = UNFULFILLED in done.stdout
    if not states or not (violated or unfulfilled or COMPLETE in done.stdout):
        raise RuntimeError(f"TLC could not check the model {model.name!r}:\n{done.stdout[-4000:]}{done.stderr[-1000:]}")
    name = violated[1] if violated else model.liveness if unfulfilled else None
    return Found(model, int(states[-1]), seconds, name, done.stdout)


def _seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
