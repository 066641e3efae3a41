"""A host that dies when its first stream is stopped."""

import os
import signal

from lockgate_spark.host.__main__ import main
from lockgate_spark.jvm.stream import Stream


def stop(self):  # type: ignore[no-untyped-def]
    os.kill(os.getpid(), signal.SIGKILL)


Stream.stop = stop
main()
