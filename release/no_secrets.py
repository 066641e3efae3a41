"""Looks for passwords, keys and tokens that were written into a file, now or in any commit.

    python release/no_secrets.py

`detect-secrets` knows their forms. The sources are searched with all that it knows, guesses by
entropy and by names included. What it takes for a secret there, and is none, stands in
`release/no_secrets.txt` with the reason. Tests are full of invented tokens: they, and every line
that a commit has ever added, are searched for what has the form of a real one, such as a private
key or a token of a forge. The exit code is 1 where something is found. No secret is printed.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.core.scan import scan_file
from detect_secrets.settings import default_settings, transient_settings
from version import ROOT

KNOWN = ROOT / "release/no_secrets.txt"
INVENTED = ("tests/", "benchmarks/", "constraints/images/", "docs/samples/")
"""Where nothing but the form of a real secret counts."""

GUESSES = {"Base64HighEntropyString", "HexHighEntropyString", "KeywordDetector", "BasicAuthDetector"}
GUESSES |= {"IPPublicDetector", "IbmCloudIamDetector", "IbmCosHmacDetector", "SoftlayerDetector", "CloudantDetector"}


def main() -> None:
    """Called from the command line."""
    found = [*in_the_tree(), *in_the_history()]
    for line in found:
        print(line)
    print(f"{len(found)} secrets found in the tree and in {_git(ROOT, 'rev-list', '--count', 'HEAD').strip()} commits")
    if _git(ROOT, "rev-parse", "--is-shallow-repository").strip() == "true":
        print("this clone is shallow: older commits were not searched (git fetch --unshallow)", file=sys.stderr)
    raise SystemExit(1 if found else 0)


def in_the_tree(root: Path = ROOT) -> Iterator[str]:
    """Each secret of a file, by place and kind."""
    known = _known()
    files = _git(root, "ls-files").splitlines()
    with default_settings():
        for file in (each for each in files if not each.startswith(INVENTED)):
            for each in scan_file(str(root / file)):
                if (file, each.secret_hash) not in known:
                    yield f"{file}:{each.line_number}: {each.type} ({each.secret_hash})"
    with transient_settings({"plugins_used": _forms()}):
        for file in (each for each in files if each.startswith(INVENTED)):
            for each in scan_file(str(root / file)):
                yield f"{file}:{each.line_number}: {each.type}"


def in_the_history(root: Path = ROOT) -> Iterator[str]:
    """Each secret of a line that a commit has added, by commit and kind."""
    commit, added = "", dict[str, str]()
    for line in _git(root, "log", "-p", "-U0", "--no-color", "--no-ext-diff", "--format=commit %h").splitlines():
        if line.startswith("commit "):
            commit = line
        elif line.startswith("+"):
            added.setdefault(line[1:], commit)
    commits = list(added.values())
    with tempfile.TemporaryDirectory() as folder, transient_settings({"plugins_used": _forms()}):
        file = Path(folder) / "added"
        file.write_text("\n".join(added), encoding="utf-8")
        yield from (f"{commits[each.line_number - 1]}: {each.type}" for each in scan_file(str(file)))


def _forms() -> list[dict[str, str]]:
    names = (each.__name__ for each in get_mapping_from_secret_type_to_class().values())
    return [{"name": name} for name in names if name not in GUESSES]


def _known() -> set[tuple[str, str]]:
    """By file and hash, as detect-secrets makes it."""
    rows = (line.split(maxsplit=2) for line in KNOWN.read_text(encoding="utf-8").splitlines())
    return {(row[0], row[1]) for row in rows if len(row) == 3 and row[0] != "#"}


def _git(root: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=root, capture_output=True, text=True, check=True, errors="replace"
    ).stdout


if __name__ == "__main__":
    main()
