"""What a request is refused with before the service sees it. No text here ever holds a token."""


class Unauthorized(Exception):
    """There is no token in the request, or none that is known."""


class Forbidden(Exception):
    """The token is known, and may not do this. The text says which role or which group it would
    take.
    """


class TooManyRequests(Exception):
    """The token has used up its rate; after `retry_after_s` seconds, a whole number, it may go
    on.
    """

    def __init__(self, name: str, rate: int, retry_after_s: int) -> None:
        super().__init__(f"the token {name!r} may make {rate} requests a second: wait {retry_after_s} s")
        self.retry_after_s = retry_after_s
