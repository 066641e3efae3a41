"""`python -m lockgate_spark.host`, as `HostProcess.java` starts it.

The process ends with the driver, also where that is killed: the driver holds the other end of its
standard input.
"""

import logging
import os
import sys
import threading

from lockgate_spark.host.answers import HostAnswers
from lockgate_spark.host.driver import Driver


def main() -> None:
    """Attaches to the driver, and answers until it ends."""
    level = os.environ.get("LOCKGATE_LOG", "INFO")
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(message)s")
    logging.getLogger("lockgate").setLevel(level)
    logging.captureWarnings(True)
    threading.Thread(target=_end_with_the_driver, name="lockgate-host-end", daemon=True).start()
    driver = Driver.attached()
    driver.register(HostAnswers(driver))
    threading.Event().wait()


def _end_with_the_driver() -> None:
    sys.stdin.buffer.read()
    os._exit(0)  # nothing here outlives the driver, and no clean-up could reach it


if __name__ == "__main__":
    main()
