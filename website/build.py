"""Builds the site: `python -m website.build`, or with `serve` shows it and builds it anew as pages
change. Any broken link or anchor, and any other warning of Zensical, fails the build.
"""

import re
import subprocess
import sys
import time
from pathlib import Path

from website import llms
from website.pages import ROOT
from website.stage import BUILD, CONFIGURATION, staged, write

SITE = BUILD / "site"
SHIM = re.compile(r'src="https://unpkg\.com/iframe-worker/shim"')
WORKER = "assets/worker-from-disk.js"
WATCHED = ("docs", "website", "*.md")


def build() -> None:
    """The whole site, from nothing. Raises SystemExit where something is wrong with it."""
    files = staged()
    write(files)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", CONFIGURATION.name]
    done = subprocess.run(command, cwd=BUILD, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr.partition('Traceback')[0]}the site was not built")
    (SITE / "404.html").unlink(missing_ok=True)  # its links are those of a site at a host's root alone
    for page in SITE.rglob("*.html"):
        here = "../" * (len(page.relative_to(SITE).parts) - 1)
        page.write_text(SHIM.sub(f'src="{here}{WORKER}"', page.read_text(encoding="utf-8")), encoding="utf-8")
    llms.write(SITE, files)
    print(f"{SITE.relative_to(ROOT)}/index.html: {len(list(SITE.rglob('*.html')))} pages")


def serve() -> None:
    """Shows the site at localhost:8000 until Ctrl-C."""
    write(staged())
    command = [sys.executable, "-m", "zensical", "serve", "-f", CONFIGURATION.name]
    with subprocess.Popen(command, cwd=BUILD) as server:
        seen = _changed()
        while server.poll() is None:
            time.sleep(0.5)
            if (now := _changed()) != seen:
                seen = now
                write(staged())


def _changed() -> dict[Path, float]:
    found = (path for pattern in WATCHED for path in ROOT.glob(pattern))
    files = (each for path in found for each in (path.rglob("*") if path.is_dir() else [path]))
    return {path: path.stat().st_mtime for path in files if path.is_file() and "__pycache__" not in path.parts}


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else build()
