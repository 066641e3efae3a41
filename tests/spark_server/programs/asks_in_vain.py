"""A user who asks for several streams at once, with a coordinator that never answers."""

import sys
import threading

from streams import stream

URL, STREAMS = sys.argv[4], int(sys.argv[5])
SLOW = {"lockgate__coordinator__url": URL, "lockgate__coordinator__group": "slow"}


def ask() -> None:
    print(stream(lockgate__align="true", lockgate__coordinator__timeout="1 hour", **SLOW).schema, flush=True)


for _ in range(STREAMS):
    threading.Thread(target=ask).start()
