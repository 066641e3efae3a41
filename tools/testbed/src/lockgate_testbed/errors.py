"""The errors of the test bed. Each names what is missing or broken, and what to do about it.

TestbedError
├── ChildFailed          a child process ended, or was not ready in time; carries its log's tail
└── Missing              something that the machine has to bring
    ├── JavaMissing      no Java 17 or newer
    ├── JdkMissing       no compiler for the jar of the Spark server's extension
    ├── JarsUnavailable  neither Maven nor Ivy could bring the jars
    ├── ClientUnavailable  pip could not bring a Python for clients of Spark Connect
    ├── RedisMissing     no redis-server on the PATH
    └── PrometheusMissing  no prometheus or promtool on the PATH
"""


class TestbedError(Exception):
    """Base of everything that the test bed raises on purpose."""

    __test__ = False  # pytest takes every class named Test… for a suite


class ChildFailed(TestbedError):
    """A child process ended before its time, or did not become ready."""


class Missing(TestbedError):
    """Something that this machine has to bring is not there; the text says how to get it."""


class JavaMissing(Missing):
    """No Java 17 or newer."""


class JdkMissing(Missing):
    """The jar of the Spark server's extension could not be made: it takes a JDK."""


class JarsUnavailable(Missing):
    """Neither Maven nor Ivy could bring the jars."""


class ClientUnavailable(Missing):
    """Pip could not make a Python for clients of Spark Connect."""


class RedisMissing(Missing):
    """No `redis-server` on the PATH."""


class PrometheusMissing(Missing):
    """No `prometheus`, or no `promtool`, on the PATH."""
