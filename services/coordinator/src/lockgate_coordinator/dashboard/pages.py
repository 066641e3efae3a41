"""Serves the files of the dashboard: read once, packed once, each with the headers that keep a page
apart from all others.

The files hold no data, so they need no token. The policy lets the page load scripts and styles from
this service alone, none of them inline, and talk to this service alone. No other page may frame it.
"""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from fastapi import Request, Response
from starlette.routing import Route

TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Asked for each time, and answered 304: after an upgrade no browser mixes two releases.
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}
CHARTS = ("uplot/static/uPlot.iife.js", "uplot/static/uPlot.min.css")
"""The files of uPlot in the distribution `uplot-python`. A wheel of this package has them among its
own files, by hatch_build.py. A checkout takes them from the distribution, whose Python package is
never imported: it would load numpy.
"""


@dataclass(frozen=True, slots=True)
class File:
    """A file as it is sent: plain, and packed by gzip."""

    kind: str
    plain: bytes
    packed: bytes
    tag: str

    @classmethod
    @cache
    def of(cls, name: str, plain: bytes) -> "File":
        """Return the file of this name, packed once in a process."""
        return cls(
            TYPES[PurePosixPath(name).suffix],
            plain,
            gzip.compress(plain, 9, mtime=0),
            f'"{sha256(plain).hexdigest()[:16]}"',
        )


class Pages:
    """All files by their paths: `/` is the page, all others are below `/dashboard/`."""

    def __init__(self) -> None:
        folder = files("lockgate_coordinator.dashboard") / "static"
        found = {each.name: each.read_bytes() for each in folder.iterdir() if PurePosixPath(each.name).suffix in TYPES}
        found |= {} if "uPlot.iife.js" in found else _charts()
        self._files = {f"/dashboard/{name}": File.of(name, plain) for name, plain in found.items()}
        self._files["/"] = self._files.pop("/dashboard/index.html")

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that have a file."""
        return tuple(self._files)

    @property
    def routes(self) -> list[Route]:
        """A route for each file."""
        return [
            Route(path, partial(_page, file), methods=["GET"], name="page", include_in_schema=False)
            for path, file in self._files.items()
        ]


async def _page(file: File, request: Request) -> Response:
    headers = {**HEADERS, "ETag": file.tag}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=file.kind)
    return Response(file.plain, headers=headers, media_type=file.kind)


def _charts() -> dict[str, bytes]:
    try:
        installed: Any = distribution("uplot-python")
    except PackageNotFoundError as error:
        raise RuntimeError(
            "the dashboard of a checkout needs uplot-python: pip install uplot-python, or give --no-dashboard"
        ) from error
    return {PurePosixPath(name).name: installed.locate_file(name).read_bytes() for name in CHARTS}
