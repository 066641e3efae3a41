"""Looks for known vulnerabilities in what is pinned, for unsafe patterns in the sources, and for
secrets in the tree and in its history.

    make audit                  # exit code 1 where one of them finds something
    make audit ARGS=--strict    # and where versions could not be checked

`pip-audit` asks the registry for the vulnerabilities of each version that constraints/dev.txt or an
image pins. `bandit` reads the sources, `no_secrets.py` everything. A mirror of the registry may
have no data about vulnerabilities, and without a network nobody has: then the last lines say how
many versions nobody has checked. That is no success of theirs.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from version import PACKAGES, ROOT

CONSTRAINTS = ROOT / "constraints"
PIN = re.compile(r"(?m)^([A-Za-z0-9._-]+==[^\s;\\]+)")


def main() -> None:
    """Called from the command line."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--strict", action="store_true", help="fail where a version could not be checked")
    strict = options.parse_args().strict
    sources = [str(ROOT / package / "src") for package in PACKAGES]
    bandit = subprocess.run([sys.executable, "-m", "bandit", "-q", "-ll", "-r", *sources], check=False)
    if not bandit.returncode:
        print("no unsafe pattern of medium or high severity in the sources", flush=True)
    secrets = subprocess.run([sys.executable, str(ROOT / "release/no_secrets.py")], check=False)
    found = audited()
    print("\n".join(told(found)), flush=True)
    failed = any(each.get("vulns") for each in found) or (strict and any("skip_reason" in each for each in found))
    raise SystemExit(1 if failed or bandit.returncode or secrets.returncode else 0)


def pinned(constraints: Path = CONSTRAINTS) -> list[str]:
    """Each `name==version` that the tests or an image install."""
    files = [constraints / "dev.txt", *constraints.glob("images/*.txt")]
    return sorted({pin.lower() for file in files for pin in PIN.findall(file.read_text(encoding="utf-8"))})


def audited() -> list[dict[str, Any]]:
    """What pip-audit has found, by version. Raises SystemExit where it has failed."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as asked:
        asked.write("\n".join(pinned()))
        asked.flush()
        command = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "-f", "json", "-r", asked.name]
        audit = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found: list[dict[str, Any]] = json.loads(audit.stdout)["dependencies"]
    except ValueError:
        raise SystemExit(f"pip-audit has failed:\n{audit.stderr}") from None
    return found


def told(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Lines for people: each vulnerability, and how many versions were checked."""
    for each in found:
        for fault in each.get("vulns", ()):
            fixed = ", ".join(fault["fix_versions"]) or "no release yet"
            yield f"{each['name']} {each['version']}: {fault['id']}, mended in {fixed}"
    unchecked = sum("skip_reason" in each for each in found)
    checked = len(found) - unchecked
    known = sum(bool(each.get("vulns")) for each in found)
    if checked:
        yield f"{checked} of {len(found)} pinned versions checked: {known} have known vulnerabilities"
    if unchecked:
        yield (
            f"NOT CHECKED: {unchecked} of {len(found)} pinned versions. This registry has no data about "
            "vulnerabilities of theirs. Run it where pypi.org itself answers"
        )


if __name__ == "__main__":
    main()
