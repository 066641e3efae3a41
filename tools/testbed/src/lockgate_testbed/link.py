"""A network between two processes of this machine that can be stopped, slowed and cut: a TCP proxy
of one port.
"""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from types import TracebackType

START_WITHIN_S = 10.0
_PIECE = 65_536
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER of no time: closing is a reset


class Link:
    """`with Link(port) as link:` a proxy. A client that connects to `link.port` on this machine
    speaks with `port`, and is reset where nobody listens there.

    `stop` holds every byte, and the connections stay open, as when a cable is drawn; `resume` lets
    the bytes go on. `slow(seconds)` holds each piece for so long. `reset` breaks all connections at
    once; new ones may be made. `lead_to(port)` does so too, and new ones lead to another port.
    `lose_answer(request)` lets the next request with these bytes through, and resets all
    connections in place of its answer.
    """

    def __init__(self, port: int) -> None:
        self.port = 0
        self._to = port
        self._delay_s = 0.0
        self._loop = asyncio.new_event_loop()
        self._flows = asyncio.Event()
        self._ended = asyncio.Event()
        self._started = threading.Event()
        self._open: set[asyncio.StreamWriter] = set()
        self._unanswered: bytes | None = None
        self._clients: dict[asyncio.StreamWriter, asyncio.StreamWriter] = {}  # by the server's end
        self._lost: set[asyncio.StreamWriter] = set()  # clients whose next piece is the lost answer
        self._thread = threading.Thread(
            target=lambda: self._loop.run_until_complete(self._serve()), name="lockgate-link", daemon=True
        )

    def stop(self) -> None:
        """From now on nothing passes."""
        self._call(self._flows.clear)

    def resume(self) -> None:
        """Traffic passes again at once: all that was held, and all that comes."""
        self.slow(0.0)
        self._call(self._flows.set)

    def slow(self, seconds: float) -> None:
        """Each piece takes so long from now on."""
        self._delay_s = seconds

    def lose_answer(self, request: bytes) -> None:
        """Let the next request that has these bytes in one piece through, but never answer it."""
        self._unanswered = request

    @property
    def has_lost(self) -> bool:
        """Whether the request of `lose_answer` has come."""
        return self._unanswered is None

    def reset(self) -> None:
        """Reset both ends of all connections."""
        self._call(self._break)

    def lead_to(self, port: int) -> None:
        """From now on the proxy leads to another port, as after a failover."""
        self._to = port
        self.reset()

    def __enter__(self) -> "Link":
        self._thread.start()
        if not self._started.wait(START_WITHIN_S):
            raise TimeoutError(f"no proxy of port {self._to} within {START_WITHIN_S:g} s")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call(self._ended.set)
        self._thread.join()
        self._loop.close()

    # -- on the loop's thread --

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._flows.set()
        self._started.set()
        await self._ended.wait()
        server.close()
        self._break()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _carry(self, near: asyncio.StreamReader, to_near: asyncio.StreamWriter) -> None:
        self._open.add(to_near)
        try:
            far, to_far = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            self._shut(to_near)
            return
        self._open.add(to_far)
        self._clients[to_far] = to_near
        pumps = [asyncio.ensure_future(self._pump(near, to_far)), asyncio.ensure_future(self._pump(far, to_near))]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            del self._clients[to_far]
            for end in (to_near, to_far):
                self._open.discard(end)
                end.close()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):  # an end that breaks is closed at both ends
            while piece := await source.read(_PIECE):
                if self._unanswered is not None and self._unanswered in piece:
                    self._unanswered = None
                    self._lost.add(self._clients[sink])
                elif sink in self._lost:
                    self._lost.discard(sink)
                    self._break()
                    return
                await asyncio.sleep(self._delay_s)
                await self._flows.wait()
                sink.write(piece)
                await sink.drain()

    def _break(self) -> None:
        for end in tuple(self._open):
            self._shut(end)

    def _shut(self, end: asyncio.StreamWriter) -> None:
        self._open.discard(end)
        wire: socket.socket = end.get_extra_info("socket")
        with contextlib.suppress(OSError):
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        end.transport.abort()

    def _call(self, what: Callable[[], object]) -> None:
        self._loop.call_soon_threadsafe(what)
