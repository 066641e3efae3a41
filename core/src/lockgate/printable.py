"""Escaping of untrusted text, so that it cannot control a terminal or add lines to a log.

A reader's owner and attributes are free text, as are the reasons that operators give. Control
characters in such text could clear the screen, set the clipboard or reverse the direction of
writing. So lockgate escapes all text that it prints or logs.
"""

import json
import logging


def printable(text: str) -> str:
    """Return `text` with each unprintable character, such as a line end, escaped as in JSON."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


class Printable(logging.Filter):
    """A logging filter that escapes each record's message, but leaves tracebacks as they are."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Escape the record's message if it has unprintable characters. Always return True."""
        message = record.getMessage()
        if not message.isprintable():
            record.msg, record.args = printable(message), None
        return True
