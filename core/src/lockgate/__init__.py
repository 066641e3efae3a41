"""lockgate: the rules of watermark alignment, free of I/O, clocks and threads."""

import logging

from lockgate.printable import Printable

__version__ = "0.1.0"

# All packages log as "lockgate", so one filter here serves every handler that an application adds.
logging.getLogger("lockgate").addFilter(Printable())
