"""A Python that Java calls: it answers how many connections Java has to it."""

import sys
import threading

from py4j.clientserver import ClientServer, JavaParameters, PythonParameters

SECRET = "a secret"


class Answers:
    class Java:
        implements = ("java.util.function.BiFunction",)

    def apply(self, method: str, arguments: object) -> int:
        """A thread serves each connection."""
        return threading.active_count() - own


java = JavaParameters(port=int(sys.argv[1]), auth_token=SECRET)
gateway = ClientServer(java, PythonParameters(port=0, auth_token=SECRET))
server = gateway.java_gateway_server
server.resetCallbackClient(server.getCallbackClient().getAddress(), gateway.get_callback_server().get_listening_port())
own = threading.active_count()
gateway.entry_point.register(Answers())
sys.stdin.read()
