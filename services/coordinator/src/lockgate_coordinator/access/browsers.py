"""The protection of a service without tokens against the web pages that its users open.

Such a service trusts every client that reaches its port, including the users' browsers, and so any
page that they show:

* *Cross-site requests.* A page may send a POST to any address. It cannot read the answer, but the
  request takes effect. Browsers name the page's origin in the header `Origin`. Over https, and to a
  loopback address, `Sec-Fetch-Site` also says whether the page is from another site.
* *DNS rebinding.* The owner of a page can make the page's host name resolve to the address of this
  service. The browser then treats the page and the service as one origin, but the request's `Host`
  is still the page's name.

So requests from another origin are refused, and so are requests for a host name that a page could
own. A page cannot own an IP address, a name without a dot, or a private name, which public DNS
never resolves. The operator has to allow all other names. With tokens, none of this is needed,
because a page has no token.

The private names are those of RFC 6761 and RFC 6762, ICANN's `internal`, and Kubernetes' `svc`.
"""

import ipaddress
from collections.abc import Awaitable, Callable, Collection
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from lockgate_coordinator.access.denials import CrossSite, ForeignHost

ANY_HOST = "*"
_PRIVATE = (".localhost", ".local", ".internal", ".svc")


class Browsers:
    """ASGI middleware that refuses requests that a web page may have sent.

    `hosts` are host names that are allowed besides private ones; `ANY_HOST` allows every name.
    `answer` returns the response to a refused request, given its path and the refusal.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], answer: Callable[[str, Exception], ASGIApp]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._answer = answer
        self._judged: dict[bytes, bool] = {}

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        return (self._app if refusal is None else self._answer(scope["path"], refusal))(scope, receive, send)

    def _refusal(self, scope: Scope) -> CrossSite | ForeignHost | None:
        host = origin = site = mode = b""
        for name, value in scope["headers"]:
            if name == b"host":
                host = value
            elif name == b"origin":
                origin = value
            elif name == b"sec-fetch-site":
                site = value
            elif name == b"sec-fetch-mode":
                mode = value
        if host and not self._allowed(host):
            return ForeignHost(host.decode("latin-1")[:255])
        if origin and urlsplit(origin.decode("latin-1")).netloc.lower() != host.decode("latin-1").lower():
            return CrossSite(origin.decode("latin-1")[:255])
        # a link that somebody follows shows its answer to that person, and not to the page
        followed = mode == b"navigate" and scope["method"] == "GET"
        if site not in (b"", b"same-origin", b"none") and not followed:
            return CrossSite("another site")
        return None

    def _allowed(self, host: bytes) -> bool:
        """Return whether requests for `host` are allowed. Results are cached."""
        known = self._judged.get(host)
        if known is None:
            if len(self._judged) >= 1_024:
                self._judged.clear()
            text = host.decode("latin-1")
            is_named = ANY_HOST in self._hosts or _name(text).removesuffix(".") in self._hosts
            known = self._judged[host] = is_private(text) or is_named
        return known


def is_private(host: str) -> bool:
    """Return whether no page on the internet can own `host`, which may include a port."""
    name = _name(host)
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return bool(name) and ("." not in name or name.removesuffix(".").endswith(_PRIVATE))
    return True


def _name(host: str) -> str:
    """Return the host without its port, in lower case."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and (port.isdigit() or not port) else host.lower()
