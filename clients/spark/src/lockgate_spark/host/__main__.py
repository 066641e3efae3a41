"""`python -m lockgate_spark.host`, the command with which `HostProcess.java` starts the host. The
driver holds the other end of the host's standard input, so the host ends with the driver.
"""

import logging
import os
import signal
import sys
import threading

from lockgate import __version__
from lockgate_spark.host.answers import HostAnswers
from lockgate_spark.report.files import write_all


def main() -> None:
    """Answer the driver's calls until it ends. Exit at once if its jar has another version."""
    here, jar = __version__, os.environ.get("LOCKGATE_JAR")  # empty for classes that are in none
    if jar and here != jar:
        sys.exit(
            f"the jar lockgate-spark-server is {jar}, and this Python has lockgate-spark {here}: run "
            f"`{sys.executable} -m pip install lockgate-spark=={jar}`, or take the jar of {here}"
        )
    level = os.environ.get("LOCKGATE_LOG", "INFO")
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(message)s")
    logging.getLogger("lockgate").setLevel(level)
    logging.captureWarnings(True)
    threading.Thread(target=end_with_the_driver, name="lockgate-host-end", daemon=True).start()
    answers = HostAnswers()
    # Ctrl-C in a shell reaches this process too. PySpark would cancel the jobs of all sessions.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers.java.register(answers)
    threading.Event().wait()


def end_with_the_driver() -> None:
    """Wait until the driver ends. Then write the reports of runs in observe mode, and exit."""
    sys.stdin.buffer.read()
    try:
        write_all()
    finally:
        os._exit(0)  # nothing else here outlives the driver, and no clean-up could reach it


if __name__ == "__main__":
    main()
