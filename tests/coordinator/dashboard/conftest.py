"""One coordinator with tokens of every role, and one browser, for each module."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from lockgate_testbed.coordinator import CoordinatorProcess
from support.browser import CHROMIUM, MISSING, chromium
from support.tokens import FILE


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None and os.environ.get("CI") == "true":
        pytest.fail(f"CI must not leave this out: {MISSING}", pytrace=False)
    if CHROMIUM is None:
        pytest.skip(MISSING)
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokens") / "tokens.toml"
    path.write_text(FILE)
    return path


@pytest.fixture(scope="module")
def coordinator(tokens: Path) -> Iterator[CoordinatorProcess]:
    with CoordinatorProcess(options=["--tokens", str(tokens)]) as process:
        yield process
