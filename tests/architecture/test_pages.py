"""Pages name things that are there: links lead somewhere, and the architecture page shows the
rooms as the sources have them.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.imports import CHECKOUT, SOURCES
from support.rooms import PICTURE, arrows, downward, shortest, svg

PAGE = CHECKOUT / "docs/internals/architecture.md"
PAGES = [*sorted(CHECKOUT.glob("*.md")), *sorted((CHECKOUT / "docs").rglob("*.md"))]
LINK = re.compile(r"\[([^]]*)\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
A_NAME = re.compile(r"`(?:\w+\.)*(\w+)`")


def links(page: Path) -> Iterator[tuple[str, Path, str]]:
    """Yield the text, the path and the anchor of each link to a file of the repository."""
    for text, target in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        if not target.startswith(("http://", "https://")):
            path, _, anchor = target.partition("#")
            yield text, (page.parent / path).resolve() if path else page, anchor


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them, and of names from the code."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    made = re.findall(r"^::: (\S+)$", text, re.MULTILINE)
    return {*made, *(re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings)}


def folders() -> list[Path]:
    """Return the rooms: folders below a package that hold modules, those inside of a room too."""
    return [
        path.parent
        for package, source in SOURCES.items()
        for path in sorted((source / package).rglob("__init__.py"))
        if path.parent != source / package
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert [str(path) for _, path, _ in links(page) if not path.exists()] == []
    assert [f"{path.name}#{anchor}" for _, path, anchor in links(page) if anchor and anchor not in anchors(path)] == []


def test_every_page_but_those_for_contributors_is_in_the_navigation_once() -> None:
    site = (CHECKOUT / "zensical.toml").read_text(encoding="utf-8")
    listed = re.findall(r'"([\w/-]+\.md)"\}', site)
    pages = [path.relative_to(CHECKOUT / "docs").as_posix() for path in PAGES if path.is_relative_to(CHECKOUT / "docs")]

    assert sorted(listed) == sorted(page for page in pages if not page.startswith("internals/"))
    assert len(listed) <= 25


def test_every_room_is_on_the_page_of_the_architecture() -> None:
    linked = {path for _, path, _ in links(PAGE)}

    assert len(folders()) > 12
    assert [str(folder.relative_to(CHECKOUT)) for folder in folders() if folder not in linked] == []


def test_every_path_in_the_text_of_the_architecture_page_is_there() -> None:
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", PAGE.read_text(encoding="utf-8"))

    assert [path for path in named if not (CHECKOUT / path).exists()] == []


def test_every_function_that_the_architecture_page_names_is_in_the_file_it_links() -> None:
    named = [
        (found[1], path) for text, path, _ in links(PAGE) if path.suffix == ".py" and (found := A_NAME.match(text))
    ]

    assert len(named) > 20
    assert [f"{name} in {path}" for name, path in named if not _defines(path, name)] == []


def _defines(path: Path, name: str) -> bool:
    defined = rf"^\s*(?:async def|def|class) {name}\b|^{name}\b.* ="
    return re.search(defined, path.read_text(encoding="utf-8"), re.MULTILINE) is not None


def test_the_picture_shows_the_rooms_and_arrows_of_the_sources() -> None:
    remedy = "`PYTHONPATH=tests python -m support.rooms` draws it anew"

    assert PICTURE.read_text(encoding="utf-8") == svg(), remedy


def test_no_arrow_of_the_picture_points_up() -> None:
    assert {package: arrows(package) for package in SOURCES} == {
        package: downward(arrows(package)) for package in SOURCES
    }


def test_the_picture_leaves_out_arrows_that_a_longer_way_replaces() -> None:
    down = {"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset[str]()}

    assert shortest(down) == {**down, "a": frozenset("b")}


def test_an_arrow_that_closes_a_circle_points_up() -> None:
    circle = {"ways in": frozenset("b"), "b": frozenset("c"), "c": frozenset({"ways in"})}

    assert downward(circle) == {**circle, "c": frozenset()}
