"""The routes of the dashboard's files.

The files are compressed once. They contain no data, so they need no token. The
`Content-Security-Policy` lets the page load scripts and styles only from this service, none of them
inline, and send requests only to this service. No other page may frame it.
"""

import gzip
from collections.abc import Mapping
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
"""The files of uPlot in the distribution `uplot-python`. hatch_build.py puts them into a wheel of
this package. A checkout takes them from the distribution, whose Python package is never imported,
because it would load numpy.
"""


def routes() -> list[Route]:
    """Return the routes `/` (page) and `/dashboard/…`. Raises `RuntimeError` without uPlot."""
    folder = files("lockgate_coordinator.dashboard") / "static"
    found = {each.name: each.read_bytes() for each in folder.iterdir() if PurePosixPath(each.name).suffix in TYPES}
    found |= {} if "uPlot.iife.js" in found else _charts()
    return [
        Route(
            "/" if name == "index.html" else f"/dashboard/{name}",
            partial(_page, TYPES[PurePosixPath(name).suffix], plain),
            methods=["GET"],
            name="page",
            include_in_schema=False,
        )
        for name, plain in found.items()
    ]


@cache
def _packed(plain: bytes) -> tuple[bytes, str]:
    """Return the file `plain` compressed by gzip, and the ETag of the file."""
    return gzip.compress(plain, 9, mtime=0), f'"{sha256(plain).hexdigest()[:16]}"'


async def _page(kind: str, plain: bytes, request: Request) -> Response:
    packed, tag = _packed(plain)
    headers = {**HEADERS, "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=kind)
    return Response(plain, headers=headers, media_type=kind)


def _charts() -> dict[str, bytes]:
    try:
        installed: Any = distribution("uplot-python")
    except PackageNotFoundError as error:
        raise RuntimeError(
            "the dashboard of a checkout needs uplot-python: pip install uplot-python, or give --no-dashboard"
        ) from error
    return {PurePosixPath(name).name: installed.locate_file(name).read_bytes() for name in CHARTS}
