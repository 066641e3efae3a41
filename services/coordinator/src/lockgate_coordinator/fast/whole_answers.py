"""Answers that leave in one piece.

uvicorn takes an answer apart: it checks each header, and writes head and body with a system call
each. An answer that is complete, under the head that all answers of its kind share, is written at
once. Everything else is sent uvicorn's way, as all answers are without this part
(`intake.Intake`).
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from lockgate_coordinator.intake import Intake

WHOLE: Final = "lockgate.whole"
"""The name, in the `extensions` of ASGI's scope, of `WholeAnswers.answer_whole`."""


class WholeAnswers(Intake):
    """The intake with its limits, and `answer_whole` for the application."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._extensions = {WHOLE: self.answer_whole}
        self._headers: list[tuple[bytes, bytes]] | None = None
        self._start = b""

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        # The dict holds a method of this object, and so the object itself. Without this line only
        # the garbage collector would free it, and that runs seldom.
        self._extensions.clear()

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        # ASGI's extensions are open to servers; uvicorn's type lists its own only
        self.scope["extensions"] = self._extensions  # type: ignore[typeddict-item]

    def answer_whole(self, send: Callable[..., Awaitable[None]], body: bytes) -> bool:
        """Writes the answer with status 200 and this JSON. Returns False, having written nothing,
        where the answer has to be sent the usual way:

        a middleware has its own `send` and wants to see the answer, or the connection is about to
        end, or is stuck.
        """
        cycle = self.cycle
        if send != cycle.send or cycle.disconnected or not cycle.keep_alive or self.flow.write_paused:
            return False
        # uvicorn makes these headers anew each second, for the date
        if self._headers is not cycle.default_headers:
            self._headers = cycle.default_headers
            lines = b"".join(b"%b: %b\r\n" % header for header in self._headers)
            self._start = b"HTTP/1.1 200 OK\r\n%bcontent-type: application/json\r\ncontent-length: " % lines
        cycle.response_started = cycle.response_complete = True
        self.transport.write(b"%b%d\r\n\r\n%b" % (self._start, len(body), body))
        cycle.message_event.set()
        cycle.on_response()
        return True
