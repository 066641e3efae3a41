"""A Python that Java calls: its plan takes until it has said several times that it lives, or
it stops itself amid a plan.
"""

import os
import signal
import sys
import threading

from py4j.clientserver import ClientServer, JavaParameters, PythonParameters

SECRET = "a secret"
TIMES = 20
asked = threading.Semaphore(0)


class Answers:
    class Java:
        implements = ("java.util.function.BiFunction",)

    def apply(self, method: str, arguments: object) -> object:
        return getattr(self, method)()

    def lives(self) -> None:
        asked.release()

    def plan(self) -> str:
        for _ in range(TIMES):
            asked.acquire()
        return "planned"

    def stop(self) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)


java = JavaParameters(port=int(sys.argv[1]), auth_token=SECRET)
gateway = ClientServer(java, PythonParameters(port=0, auth_token=SECRET))
server = gateway.java_gateway_server
server.resetCallbackClient(server.getCallbackClient().getAddress(), gateway.get_callback_server().get_listening_port())
gateway.entry_point.register(Answers())
sys.stdin.read()
