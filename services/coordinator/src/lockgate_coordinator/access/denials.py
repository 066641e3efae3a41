"""The refusals of the guard, before the service sees a request. No text here ever holds a token."""


class Unauthorized(Exception):
    """The request has no token, or an unknown one."""


class Forbidden(Exception):
    """The token is known, but may not do this. The text names the needed role or group."""


class TooManyRequests(Exception):
    """The token has used up its rate. Its next request may come after `retry_after_s` whole
    seconds.
    """

    def __init__(self, name: str, rate: int, retry_after_s: int) -> None:
        super().__init__(f"the token {name!r} may make {rate} requests a second: wait {retry_after_s} s")
        self.retry_after_s = retry_after_s
