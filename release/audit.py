"""Looks for known vulnerabilities in what is pinned, for unsafe patterns in the sources, and for
secrets in the tree and in its history.

    make audit

`pip-audit` asks the registry for the vulnerabilities of each version of constraints/dev.txt, which
the images install as well. `bandit` reads the sources, `no_secrets.py` everything. The exit
code is 1 where one of them finds something. A mirror of the registry may not know of
vulnerabilities, and without a network nobody does: then the last line says how many versions
nobody has checked, and that is no success of theirs.
"""

import json
import subprocess
import sys

from version import PACKAGES, ROOT

PINNED = ROOT / "constraints/dev.txt"


def main() -> None:
    """Called from the command line."""
    sources = [str(ROOT / package / "src") for package in PACKAGES]
    bandit = subprocess.run([sys.executable, "-m", "bandit", "-q", "-ll", "-r", *sources], check=False)
    command = [sys.executable, "-m", "pip_audit", "-r", str(PINNED), "--no-deps", "--disable-pip", "-f", "json"]
    audit = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(audit.stdout)["dependencies"]
    except ValueError:
        raise SystemExit(f"pip-audit has failed:\n{audit.stderr}") from None
    known = [each for each in found if each.get("vulns")]
    for each in known:
        for fault in each["vulns"]:
            fixed = ", ".join(fault["fix_versions"]) or "no release yet"
            print(f"{each['name']} {each['version']}: {fault['id']}, mended in {fixed}")
    unchecked = sum("skip_reason" in each for each in found)
    print(f"{len(found) - unchecked} of {len(found)} pinned versions checked, {len(known)} of them vulnerable")
    if unchecked:
        print(f"{unchecked} are unchecked: this registry knows of no vulnerabilities of theirs", file=sys.stderr)
    secrets = subprocess.run([sys.executable, str(ROOT / "release/no_secrets.py")], check=False)
    raise SystemExit(1 if known or bandit.returncode or secrets.returncode else 0)


if __name__ == "__main__":
    main()
