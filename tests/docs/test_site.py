"""The site of the pages, as `make docs` builds it: nothing is broken or left out, it works from a
disk, and it asks no other host.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from website import llms
from website.stage import CONFIGURATION

from support.browser import CHROMIUM, MISSING, UNHURRIED_MS, chromium
from support.imports import CHECKOUT

SITE = CHECKOUT / "build/site"
PAGES = [path for _, _, path in llms.navigation(llms.project()["nav"])]
BUILT = tuple(f"{page.removesuffix('.md')}.html" for page in PAGES)
LOOKED_AT = ("index.html", "guide/groups.html", "reference/cli-and-rest.html")
WIDTHS = (360, 800, 1400)


@pytest.fixture(scope="module")
def site() -> Path:
    """The site, built anew."""
    done = subprocess.run(
        [sys.executable, "-m", "website.build"], cwd=CHECKOUT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return SITE


def test_every_page_of_the_navigation_is_built(site: Path) -> None:
    assert [page for page in BUILT if not (site / page).exists()] == []


def test_every_link_and_picture_of_the_site_leads_to_a_file_of_it(site: Path) -> None:
    gone = [
        f"{page.relative_to(site)}: {target}"
        for page in map(site.joinpath, BUILT)
        for target in re.findall(r'(?:href|src)="?([^"#?\s>]+)', page.read_text(encoding="utf-8"))
        if not target.startswith(("http:", "https:", "mailto:", "data:", "javascript:"))
        and not (page.parent / target).exists()
    ]
    assert gone == []


def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/index.md").write_text("# A page\n[nowhere](nowhere.md)\n")
    settings = CONFIGURATION.read_text(encoding="utf-8")
    nav = re.compile(r"^nav = \[.*?^\]$", re.DOTALL | re.MULTILINE)
    (tmp_path / "zensical.toml").write_text(nav.sub('nav = ["index.md"]', settings))
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "page does not exist" in done.stdout + done.stderr


def test_llms_txt_has_every_page_with_its_first_sentence(site: Path) -> None:
    lines = (site / "llms.txt").read_text(encoding="utf-8").splitlines()
    listed = {found[1]: found[2] for line in lines if (found := re.match(r"- \[[^]]+\]\(([^)]+)\): (.*)", line))}

    assert list(listed) == PAGES
    assert [page for page, sentence in listed.items() if len(sentence) < 20] == []
    assert [page for page in listed if not (site / page).is_file()] == []
    assert (site / "llms-full.txt").stat().st_size > sum((site / page).stat().st_size for page in PAGES)


@pytest.mark.skipif(CHROMIUM is None, reason=MISSING)
def test_the_site_works_from_a_disk_and_asks_no_other_host(site: Path) -> None:
    asked, wrong = list[str](), list[str]()
    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(UNHURRIED_MS)
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        for name in LOOKED_AT:
            page.goto((site / name).as_uri())
        page.locator("button.md-search__button").click()
        page.keyboard.type("idle_timeout")
        page.get_by_text(re.compile(r"^\d+ results$")).wait_for()
    assert wrong == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.skipif(CHROMIUM is None, reason=MISSING)
@pytest.mark.parametrize("pages", [LOOKED_AT, pytest.param(BUILT, id="all", marks=pytest.mark.long)])
def test_no_page_is_wider_than_its_window(site: Path, pages: tuple[str, ...]) -> None:
    wide = []
    with chromium() as browser:
        page = browser.new_page()
        for name in pages:
            page.goto((site / name).as_uri(), wait_until="domcontentloaded")
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                if page.evaluate("document.documentElement.scrollWidth") > width:
                    wide.append(f"{name} at {width}")
    assert wide == []
