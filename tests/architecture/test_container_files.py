"""docker-compose.yml and the Dockerfiles build wherever Docker does, with any mirror between it and
the images.
"""

import re
from pathlib import Path

import pytest

from support.imports import CHECKOUT

FILES = sorted(
    [
        CHECKOUT / "docker-compose.yml",
        *CHECKOUT.glob("deploy/**/*Dockerfile"),
        *CHECKOUT.glob("deploy/**/*compose*.y*ml"),
    ]
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(CHECKOUT)))
def test_no_frontend_is_fetched_and_no_image_is_named_by_its_digest(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert not re.search(r"^\s*#\s*syntax\s*=", text, re.MULTILINE | re.IGNORECASE)
    assert not re.search(r"@sha(256|512):", text)


def test_every_container_file_is_looked_at() -> None:
    named = set(re.findall(r"dockerfile: (\S+)", FILES[-1].read_text(encoding="utf-8")))
    assert FILES[-1].name == "docker-compose.yml"
    assert named <= {str(file.relative_to(CHECKOUT)) for file in FILES} - {"docker-compose.yml"}
    assert len(FILES) >= 5


def test_every_image_of_somebody_else_is_pinned_to_a_minor_version_or_to_a_release_of_debian() -> None:
    pinned = re.compile(r"[a-z0-9./-]+:(v?\d+\.\d+(\.\d+)?(-slim)?|trixie-slim)")
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        stages = set(re.findall(r"(?m)^FROM \S+ AS (\S+)", text))
        named = re.findall(r"(?m)^FROM (\S+)", text) + re.findall(r"(?m)^\s+image: (\S+)", text)
        own = {each for each in named if each in stages or each == "scratch" or each.startswith("lockgate-")}
        assert [each for each in named if each not in own and not pinned.fullmatch(each)] == [], file
