"""Errors for requests that are refused before they reach a route. No text contains a token."""

from lockgate.duration import spoken_s


class Unauthorized(Exception):
    """The request has no token, or an unknown one."""


class Forbidden(Exception):
    """The token does not permit the request. The text names the needed role or group."""


class TooManyRequests(Exception):
    """The token has exceeded its rate. Its next request is allowed in `retry_after_s` seconds."""

    def __init__(self, name: str, rate: int, retry_after_s: int) -> None:
        super().__init__(f"the token {name!r} may make {rate} requests a second: wait {spoken_s(retry_after_s)}")
        self.retry_after_s = retry_after_s


class ForeignHost(Exception):
    """The request is for a host name that a web site may control, and no token protects the
    coordinator.
    """

    def __init__(self, host: str) -> None:
        super().__init__(
            f"this coordinator has no tokens, so it rejects requests for the host {host!r}, which a web page may "
            "control: use its address, or allow the name with --allowed-host"
        )


class CrossSite(Exception):
    """A page of another site has sent the request."""

    def __init__(self, origin: str) -> None:
        super().__init__(
            f"this coordinator has no tokens, so it rejects requests from pages of {origin}: configure tokens"
        )


class TooManyAtOnce(TooManyRequests):
    """The token has too many requests in progress."""

    def __init__(self, name: str, most: int, kind: str) -> None:
        Exception.__init__(self, f"the token {name!r} has {most} {kind} in progress: wait until one of them ends")
        self.retry_after_s = 1
