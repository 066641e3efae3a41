"""Foreign text on a terminal or in a log: it is one line, without characters that control the
terminal.

Owners, reasons and attributes are free text. A terminal obeys control characters in it: they clear
the screen, set the clipboard, or reverse the direction of writing. So all that lockgate prints or
logs passes here.
"""

import json
import logging


def printable(text: str) -> str:
    """Return `text` with every character that Python calls unprintable escaped as in JSON.

    These are control characters, line ends, invisible direction marks and lone surrogates. JSON
    text keeps its meaning.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


class Printable(logging.Filter):
    """A logging filter that escapes the message of each record. A traceback is left to the
    formatter.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True always. A record without unprintable characters stays as it is, with its
        arguments.
        """
        message = record.getMessage()
        if not message.isprintable():
            record.msg, record.args = printable(message), None
        return True
