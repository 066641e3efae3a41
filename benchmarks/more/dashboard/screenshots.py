"""Pictures of the dashboard: `python -m benchmarks.more.dashboard.screenshots [FOLDER]`.

Each page at three widths, light and dark, with 1, 20 and 5,000 splits, from a live coordinator.
`--for-docs` writes docs/pictures/dashboard.png alone.
"""

import argparse
from pathlib import Path

from playwright.sync_api import Browser, Page

from benchmarks.more.dashboard.browser import browser
from benchmarks.more.dashboard.lively import Lively, Running, fleet, one, others, shop
from lockgate_testbed.coordinator import CoordinatorProcess

WIDTHS = {"wide": 1440, "tablet": 820, "phone": 390}
PAGES = {"groups": "", "1": "groups/invoices", "20": "groups/shop", "5000": "groups/telemetry"}


def main() -> None:
    """Start everything, wait until the pages have a history to show, and take the pictures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/dashboard"))
    parser.add_argument("--seconds", type=float, default=110, help="of history before the pictures")
    parser.add_argument("--for-docs", action="store_true", help="docs/pictures/dashboard.png alone")
    parser.add_argument("--only", nargs="*", default=list(PAGES), choices=list(PAGES), help="these pages alone")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with CoordinatorProcess() as coordinator, Running(*groups(coordinator.url)), browser() as chromium:
        if options.for_docs:
            (page,) = opened(chromium, coordinator.url, ["20"], options.seconds)
            page.screenshot(path="docs/pictures/dashboard.png", full_page=True)
        else:
            for name, page in zip(
                options.only, opened(chromium, coordinator.url, options.only, options.seconds), strict=True
            ):
                take(page, options.folder, name)


def groups(url: str) -> list[Lively]:
    """All made-up groups."""
    return [one(url), shop(url), fleet(url), *others(url)]


def opened(chromium: Browser, url: str, names: list[str], seconds: float) -> list[Page]:
    """Open these pages, and wait that long."""
    pages = [chromium.new_page(viewport={"width": 1440, "height": 900}) for _ in names]
    for page, name in zip(pages, names, strict=True):
        page.goto(f"{url}/#/{PAGES[name]}")
    pages[0].wait_for_timeout(seconds * 1000)
    return pages


def take(page: Page, folder: Path, name: str) -> None:
    """Take the page at each width, light and dark."""
    page.bring_to_front()
    for width, pixels in WIDTHS.items():
        page.set_viewport_size({"width": pixels, "height": 900})
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]  # one of the two
            page.wait_for_timeout(2_500)
            page.screenshot(path=folder / f"{name}-{width}-{theme}.png", full_page=True)


if __name__ == "__main__":
    main()
