"""A client and a coordinator of different releases work together: real processes of both, from the
sources of the last release and of today.

The last release is the newest tag; until there is one there is nothing to work together with.
"""

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import pytest

from lockgate_testbed.coordinator import CoordinatorProcess
from support.imports import CHECKOUT

LIFE = CHECKOUT / "tests/support/life_of_two_readers.py"
PARTS = ("core", "services/coordinator", "clients/http", "clients/cli", "clients/spark")


def git(*words: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(["git", *words], cwd=CHECKOUT, capture_output=True, check=False)


@pytest.fixture(scope="module")
def last(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The sources of the last release."""
    tagged = git("describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^")
    release = tagged.stdout.decode().strip()
    if not release:
        pytest.skip("nothing is released yet, or this clone has no tags: git fetch --tags brings them")
    there = [part for part in PARTS if git("cat-file", "-e", f"{release}:{part}/src").returncode == 0]
    folder = tmp_path_factory.mktemp("last")
    archive = git("archive", release, *(f"{part}/src" for part in there))
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as packed:
        packed.extractall(folder, filter="data")
    return [folder / part / "src" for part in there]


def path(sources: Sequence[Path]) -> dict[str, str]:
    """An environment in which these sources come first."""
    return {"PYTHONPATH": os.pathsep.join(map(str, sources))}


@contextmanager
def served(sources: Sequence[Path]) -> Iterator[str]:
    with CoordinatorProcess(env=path(sources)) as process:
        yield process.url


def lived(url: str, sources: Sequence[Path]) -> list[object]:
    """What two readers are told, by the client of these sources."""
    command = [sys.executable, str(LIFE), url]
    done = subprocess.run(
        command, env={**os.environ, **path(sources)}, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    found: list[object] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def today() -> list[Path]:
    return [CHECKOUT / part / "src" for part in PARTS]


def test_the_client_of_the_last_release_is_told_the_same_by_the_coordinator_of_today(
    last: list[Path], today: list[Path]
) -> None:
    with served(last) as old, served(today) as new:
        assert lived(new, last) == lived(old, last)


def test_the_client_of_today_is_told_the_same_by_the_coordinator_of_the_last_release(
    last: list[Path], today: list[Path]
) -> None:
    with served(last) as old, served(today) as new:
        assert lived(old, today) == lived(new, today)


def test_the_sources_of_the_last_release_are_really_in_use(last: list[Path]) -> None:
    command = [sys.executable, "-c", "import lockgate_coordinator; print(lockgate_coordinator.__file__)"]
    done = subprocess.run(command, env={**os.environ, **path(last)}, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(last[0].parents[1]))
