"""The coordinator service of lockgate. It keeps the readers of each alignment group close together
in event time. An operator runs it as `lockgate serve`; `clients/spark` and other clients call its
REST API. Theory: docs/internals/architecture.md (structure) and docs/internals/protocol.md (rules).
"""

from lockgate import __version__ as __version__
