"""`python guard.py PARENT_PID COMMAND…` becomes COMMAND, which is killed as soon as its parent is
gone.

A test run that is killed must not leave a broker behind. Linux sends the signal that a process
asked for when its parent dies, and the request outlives `exec`. Asking here, in a small process of
its own, avoids running Python between fork and exec. The parent has threads (py4j's, librdkafka's).
Where the system has no such signal COMMAND simply runs.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask for the signal, make sure that the parent is still there, become the command."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before the request was made
            sys.exit(1)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
