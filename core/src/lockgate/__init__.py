"""lockgate: watermark alignment, the theory. Pure: no I/O, no clock of its own, no thread."""

from importlib.metadata import version

__version__ = version("lockgate")
