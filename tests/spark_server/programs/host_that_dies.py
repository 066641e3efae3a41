"""A host that dies when it is first asked about a stream; the next one lives. Both write a log."""

import logging
import os
import signal
from pathlib import Path

from lockgate_spark.host import answers
from lockgate_spark.host.__main__ import main

MARKER = Path(os.environ["LOCKGATE_TEST_MARKER"])
aligned = answers.HostAnswers.align


def asked(self, *given):  # type: ignore[no-untyped-def]
    log = logging.getLogger("lockgate")
    if not MARKER.exists():
        MARKER.touch()
        log.error("the first host was asked\nand says it in two lines")
        os.kill(os.getpid(), signal.SIGKILL)
    log.info("an information, which the level of the driver's log leaves out")
    log.error("the second host was asked")
    return aligned(self, *given)


answers.HostAnswers.align = asked
main()
