"""lockgate: watermark alignment, the theory. Pure: no I/O, no clock of its own, no thread."""
