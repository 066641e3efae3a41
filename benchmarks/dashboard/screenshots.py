"""Pictures of the dashboard: `python -m benchmarks.dashboard.screenshots [FOLDER]`.

Each page at three widths, light and dark, with 1, 20 and 5,000 splits, from a live coordinator.
`--for-docs` writes docs/pictures/dashboard.png alone.
"""

import argparse
from pathlib import Path

from benchmarks.dashboard.browser import browser
from benchmarks.dashboard.lively import Running, fleet, others, shop
from playwright.sync_api import Browser

from lockgate_testbed.coordinator import CoordinatorProcess

WIDTHS = {"wide": 1440, "tablet": 820, "phone": 390}
PAGES = {"groups": "", "1": "groups/invoices", "20": "groups/shop", "5000": "groups/telemetry"}


def main() -> None:
    """Starts all, waits until the pages have a history to show, and takes the pictures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/dashboard"))
    parser.add_argument("--seconds", type=float, default=110, help="of history before the pictures")
    parser.add_argument("--for-docs", action="store_true", help="docs/pictures/dashboard.png alone")
    parser.add_argument("--only", default="", help="pages whose name has this")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with (
        CoordinatorProcess() as coordinator,
        Running(shop(coordinator.url), fleet(coordinator.url), *others(coordinator.url)),
        browser() as chromium,
    ):
        if options.for_docs:
            views = [("docs/pictures/dashboard.png", PAGES["20"], 1440, "light")]
        else:
            views = [
                (str(options.folder / f"{page}-{name}-{theme}.png"), path, width, theme)
                for page, path in PAGES.items()
                for name, width in WIDTHS.items()
                for theme in ("light", "dark")
                if options.only in f"{page}-{name}-{theme}"
            ]
        take(chromium, coordinator.url, views, options.seconds)


def take(chromium: Browser, url: str, views: list[tuple[str, str, int, str]], seconds: float) -> None:
    """`views`: file, page, width and theme of each. All pages are open for the same time."""
    pages = []
    for file, path, width, theme in views:
        page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)  # type: ignore[arg-type]
        page.goto(f"{url}/#/{path}")
        pages.append((file, page))
    pages[0][1].wait_for_timeout(seconds * 1000)
    for file, page in pages:
        page.bring_to_front()
        page.wait_for_timeout(2_500)
        page.screenshot(path=file, full_page=True)
        print(file)


if __name__ == "__main__":
    main()
