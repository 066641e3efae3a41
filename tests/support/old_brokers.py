"""A broker whose ListOffsets ends at version 4, as Redpanda's does: a real one behind a proxy that
says so.
"""

import asyncio
import contextlib
import re
import struct

from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.link import Link

# In an answer to ApiVersions: the key of ListOffsets (2), its lowest and its highest version, and
# the key that follows.
_LIST_OFFSETS = re.compile(rb"\x00\x02(\x00.)\x00[\x05-\xff]\x00\x00\x03", re.DOTALL)


class OldBroker(Link):
    """`with OldBroker(kafka) as old:` a proxy that hides a broker's look-up of the highest
    timestamp (version 7) from clients of `old.bootstrap`.
    """

    def __init__(self, broker: KafkaBroker) -> None:
        self._port = int(broker.bootstrap.rpartition(":")[2])
        super().__init__(self._port)

    @property
    def bootstrap(self) -> str:
        """host:port."""
        return f"127.0.0.1:{self.port}"

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                size = await source.readexactly(4)
                message = await source.readexactly(struct.unpack(">i", size)[0])
                message = _LIST_OFFSETS.sub(lambda found: b"\x00\x02" + found[1] + b"\x00\x04\x00\x00\x03", message)
                sink.write(size + message.replace(self._address(self._port), self._address(self.port)))
                await sink.drain()

    def _address(self, port: int) -> bytes:
        """As brokers name themselves: a client's further requests go through the proxy too."""
        return b"127.0.0.1" + struct.pack(">i", port)
