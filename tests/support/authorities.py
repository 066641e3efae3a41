"""The public certificate authorities, read once in a test process.

httpx reads them for each client and for each request without a client: 20 to 40 ms of processor
time. Tests ask servers of their own alone, thousands of times.
"""

import functools
import os
import ssl
from typing import Any

import certifi

PUBLIC = frozenset((certifi.where(), os.environ.get("SSL_CERT_FILE")))
_create = ssl.create_default_context
_of_public = functools.cache(lambda cafile: _create(cafile=cafile))


def read_once() -> None:
    """From now on all clients that trust the public authorities share one TLS context."""

    def create_default_context(purpose: ssl.Purpose = ssl.Purpose.SERVER_AUTH, **trust: Any) -> ssl.SSLContext:
        given = {name: value for name, value in trust.items() if value is not None}
        if purpose is ssl.Purpose.SERVER_AUTH and set(given) == {"cafile"} and given["cafile"] in PUBLIC:
            return _of_public(given["cafile"])
        return _create(purpose, **trust)

    ssl.create_default_context = create_default_context
