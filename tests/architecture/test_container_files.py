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
