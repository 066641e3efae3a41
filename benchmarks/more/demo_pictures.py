"""Take README's pictures from the report of `make demo`: `python -m benchmarks.more.demo_pictures`.

Writes docs/pictures/drift.png and drift-dark.png, and a narrow one of each for phones.
"""

from pathlib import Path

from benchmarks.more.dashboard.browser import browser

REPORT = Path("build/demo/report.html")
PICTURES = Path("docs/pictures")
WIDTHS = {"": 1000, "-narrow": 480}
"""Widths of the window in CSS pixels, by the end of the file's name."""


def main() -> None:
    """Open the report in each width and colour scheme, and save its first two charts."""
    with browser() as chromium:
        for suffix, width in WIDTHS.items():
            for scheme, dark in (("light", ""), ("dark", "-dark")):
                page = chromium.new_page(
                    viewport={"width": width, "height": 900},
                    color_scheme=scheme,  # type: ignore[arg-type]  # one of the two
                    device_scale_factor=1.5,
                )
                page.goto(REPORT.resolve().as_uri())
                page.locator("#aligned .main-svg").first.wait_for()
                page.locator(".panels").screenshot(path=PICTURES / f"drift{dark}{suffix}.png")


if __name__ == "__main__":
    main()
