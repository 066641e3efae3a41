"""The coordinator service of lockgate, which keeps the readers of alignment groups together.
An operator runs it as `lockgate serve`; `clients/spark` and other clients call its REST API.
Theory: docs/internals/architecture.md has its structure, docs/internals/protocol.md its rules.
"""

from lockgate import __version__ as __version__
