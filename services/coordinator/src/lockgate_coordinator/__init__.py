"""The coordinator service of lockgate, which keeps the readers of each alignment group close
together in event time.

An operator runs it as `lockgate serve`. Clients, such as `clients/spark`, call its REST API.
See docs/internals/architecture.md (structure) and docs/internals/protocol.md (rules).
"""

from lockgate import __version__ as __version__
