"""Text of others on a terminal or in a log: one line, in which no character steers the terminal.

Owners, reasons and attributes are free text. A terminal obeys control characters in it: they clear
the screen, set the clipboard, or reverse the direction of writing. So all that lockgate prints or
logs passes here.
"""

import json
import logging


def printable(text: str) -> str:
    """Return `text` with every character that Python calls unprintable as JSON escapes it.

    These are control characters, line ends, invisible marks of direction and half surrogates. JSON
    stays the same JSON.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


class Printable(logging.Filter):
    """Escapes the message of each record of a logger. A traceback is left to the formatter."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True always. An ordinary record stays as it is, with its arguments."""
        message = record.getMessage()
        if not message.isprintable():
            record.msg, record.args = printable(message), None
        return True
